import {
  CorruptError,
  ReadOnlyError,
  SkeinError,
  StorageFullError,
  UnavailableError,
} from '../../core/errors.ts'

/** Translates an error of SQLite into one of ours. Unknown errors are returned unchanged. */
export function translate(error: unknown): unknown {
  if (error instanceof SkeinError || !(error instanceof Error)) return error
  const code = 'code' in error ? String(error.code) : ''
  const options = { cause: error }
  if (code === 'SQLITE_FULL') return new StorageFullError('the disk is full: nothing was written', options)
  if (code.startsWith('SQLITE_READONLY') || code === 'SQLITE_PERM') {
    return new ReadOnlyError('the store can be read but not written', options)
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    return new CorruptError(`the file is damaged: ${error.message}`, options)
  }
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return new UnavailableError('the store stayed locked by another process', options)
  }
  if (code.startsWith('SQLITE_IOERR') || code.startsWith('SQLITE_CANTOPEN')) {
    return new UnavailableError(`the file cannot be reached: ${error.message}`, options)
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new StorageFullError('the disk is full: nothing was written', options)
  }
  // From the file system, before SQLite opened the file.
  if ('syscall' in error) return new UnavailableError(`the file cannot be reached: ${error.message}`, options)
  if (error instanceof TypeError && error.message.includes('connection is not open')) {
    return new UnavailableError('the store is closed', options)
  }
  return error
}

/** Runs `work` and throws its errors translated. */
export function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw translate(error)
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}
