import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  CorruptError,
  InvalidError,
  MisconfiguredError,
  ReadOnlyError,
  SkeinError,
  StorageFullError,
  UnavailableError,
} from '../../core/errors.ts'

/** Translates an error of SQLite or of the file system into one of ours, which names the file. `file` is the
 *  path of the store, or null for a store in memory. Errors of neither are returned unchanged. */
export function translate(error: unknown, file: string | null): unknown {
  if (error instanceof SkeinError || !(error instanceof Error)) return error
  const code = 'code' in error ? String(error.code) : ''
  if (code.startsWith('SQLITE_')) return translateSqlite(error, code, file)
  if (code === 'ENOSPC' || code === 'EDQUOT') return fullDisk(error, file)
  // From the file system, before SQLite opened the file.
  if ('syscall' in error) return translateSystem(error, code, file)
  if (error instanceof TypeError && error.message.includes('connection is not open')) {
    return new UnavailableError('the store is closed', { cause: error, hint: 'Open it again' })
  }
  return error
}

/** The same for an error while a store is opened. The file may have tables of another program. */
export function translateOpening(error: unknown, file: string | null): unknown {
  const isMismatch = error instanceof Error && 'code' in error && error.code === 'SQLITE_ERROR'
  return isMismatch && !isWithoutOptional(error) ? foreignTables(error, file) : translate(error, file)
}

function translateSqlite(cause: Error, code: string, file: string | null): SkeinError {
  const where = file ?? 'the store'
  const [, kind = ''] = code.split('_')
  switch (kind) {
    case 'FULL':
      return fullDisk(cause, file)
    case 'READONLY':
    case 'PERM':
      return readOnly(cause, file)
    case 'NOTADB':
      return damaged(`${where} is not a Skein store, or its header is damaged`, cause, file)
    case 'CORRUPT':
      return damaged(`${where} is damaged: ${cause.message}`, cause, file)
    case 'CONSTRAINT':
      return damaged(`${where} has contradictory rows: ${cause.message}`, cause, file)
    case 'BUSY':
    case 'LOCKED':
      return locked(cause, file)
    case 'IOERR':
    case 'CANTOPEN':
      if (isDiskFull(file)) return fullDisk(cause, file)
      if (kind === 'CANTOPEN' && isUnreadable(file))
        return misplaced(`cannot open ${file}: permission denied`, cause)
      if (kind === 'CANTOPEN' && isReadableOnly(file)) return readOnly(cause, file)
      return new UnavailableError(`cannot read or write ${where}: ${cause.message} (${code})`, {
        cause,
        hint: 'Check the disk and the rights of the file. Then: skein doctor',
      })
    case 'TOOBIG':
      return new InvalidError('value', 'is larger than SQLite can store')
    case 'ERROR':
      if (isWithoutOptional(cause)) return readOnly(cause, file)
      // They were those of a store when it was opened.
      return damaged(`${where} has damaged or changed tables: ${cause.message}`, cause, file)
    default:
      return new UnavailableError(`SQLite failed at ${where}: ${cause.message} (${code})`, {
        cause,
        hint: 'Try again, or: skein doctor',
      })
  }
}

/** Whether a table is missing that an optional migration makes: the file could not be written when it was
 *  opened. */
function isWithoutOptional({ message }: Error): boolean {
  return /no such table: skein_(tokens|tasks|dispatches|blob_parts)\b/.test(message)
}

/** A statement of ours does not fit the tables: another program made them. */
function foreignTables(cause: Error, file: string | null): SkeinError {
  const where = file ?? 'the store'
  const name = /\bskein_\w+/.exec(cause.message)?.[0]
  const what = name === undefined ? 'tables named skein_*' : `a table ${name}`
  return new MisconfiguredError('tables', `${where} has ${what} that Skein did not make: ${cause.message}`, {
    cause,
    hint: 'Rename that table, or use another file',
  })
}

function fullDisk(cause: Error, file: string | null): StorageFullError {
  const where = file === null ? '' : `: ${file}`
  return new StorageFullError(`the disk is full${where}`, {
    cause,
    hint: 'Nothing was written. Free some space',
  })
}

/** SQLite reports some failures on a full disk as I/O errors: its shared memory does not fit, or a file
 *  beside the database cannot be created. It needs 32 KiB for the first page of shared memory. */
function isDiskFull(file: string | null): boolean {
  if (file === null) return false
  try {
    const { bavail, bsize } = statfsSync(dirname(file))
    return bavail * bsize < 65_536
  } catch {
    return false // The folder is gone: the error of SQLite says more.
  }
}

function damaged(message: string, cause: Error, file: string | null): CorruptError {
  return new CorruptError(message, { cause, ...(file !== null && { hint: `Try: skein recover ${file}` }) })
}

function readOnly(cause: Error, file: string | null): ReadOnlyError {
  if (file === null) return new ReadOnlyError('the store is read-only', { cause })
  return new ReadOnlyError(`the store is read-only: ${file}`, { cause, hint: howToWrite(file) })
}

/** What to do if the file or its folder cannot be written: SQLite creates files beside the database. */
function howToWrite(file: string): string {
  const path = unwritablePart(file)
  if (path === null) return `To write: chmod u+w ${file}`
  if (writeProblem(path) === 'EROFS') return `The disk of ${path} is mounted read-only`
  const isOwn = statSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.()
  return isOwn ? `To write: chmod u+w ${path}` : `${path} belongs to another user`
}

function unwritablePart(file: string): string | null {
  return [file, dirname(file)].find(path => existsSync(path) && writeProblem(path) !== null) ?? null
}

function isUnreadable(file: string | null): boolean {
  return file !== null && accessProblem(file, constants.R_OK) === 'EACCES'
}

/** Whether the file can be read but not written. */
function isReadableOnly(file: string | null): boolean {
  return file !== null && accessProblem(file, constants.R_OK) === null && unwritablePart(file) !== null
}

function writeProblem(path: string): string | null {
  return accessProblem(path, constants.W_OK)
}

function accessProblem(path: string, mode: number): string | null {
  try {
    accessSync(path, mode)
    return null
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? ''
  }
}

function translateSystem(
  cause: Error & { path?: unknown; syscall?: unknown },
  code: string,
  file: string | null,
): SkeinError {
  const path = String(cause.path ?? file ?? 'the file')
  const verb = cause.syscall === 'mkdir' ? 'create' : existsSync(path) ? 'open' : 'open or create'
  // `EACCES: permission denied, mkdir '/x'`
  const why = /^\w+: ([^,]+),/.exec(cause.message)?.[1] ?? cause.message
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'EISDIR':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'ENAMETOOLONG':
    case 'ELOOP':
      return misplaced(`cannot ${verb} ${path}: ${why}`, cause)
    default:
      return new UnavailableError(`cannot ${verb} ${path}: ${why}`, {
        cause,
        hint: 'Try again, or: skein doctor',
      })
  }
}

function misplaced(message: string, cause: Error): MisconfiguredError {
  return new MisconfiguredError('path', message, { cause, hint: 'Use another place' })
}

/** How long a call waited for the lock before it gave up with this error. */
const waits = new WeakMap<Error, number>()

/** Records how long a call waited before it gave up. The translated error says so. */
export function noteWait(error: unknown, ms: number): void {
  if (error instanceof Error) waits.set(error, ms)
}

function locked(cause: Error, file: string | null): UnavailableError {
  const ms = waits.get(cause)
  const waited = ms === undefined ? '' : ` (${Math.round(ms / 1_000)} s)`
  const pid = file === null ? null : lockHolder(file)
  const who =
    pid === process.pid
      ? 'another connection of this process'
      : `another process${pid === null ? '' : ` (pid ${pid})`}`
  return new UnavailableError(`${who} is using the store${waited}${file === null ? '' : `: ${file}`}`, {
    cause,
    pid,
    hint: 'Try again, or: skein doctor',
  })
}

/** The byte in the shared-memory file that the writer of a database with a write-ahead log locks. */
const writerByte = 120

/** The process that holds the write lock of a database, or null if that is unknown. Only Linux lists the
 *  locks of other processes. */
function lockHolder(file: string): number | null {
  try {
    const lines = readFileSync('/proc/locks', 'utf8').split('\n')
    return (
      holderOf(lines, `${file}-shm`, writerByte) ?? holderOf(lines, `${file}-shm`) ?? holderOf(lines, file)
    )
  } catch {
    return null // not Linux, or the file is gone
  }
}

/** The holder of an exclusive lock. A line is `1: POSIX ADVISORY WRITE 4121 fe:00:2154529 120 120`: the pid,
 *  the device and inode, the first and the last byte. Waiting processes have `->` after the number. The
 *  device is not compared: file systems with subvolumes report another one in stat. */
function holderOf(lines: readonly string[], path: string, byte?: number): number | null {
  const inode = String(statSync(path).ino)
  for (const line of lines) {
    const [, kind, , mode, pid, id, first, last] = line.trim().split(/\s+/)
    if (kind === '->' || mode !== 'WRITE' || id?.split(':').at(-1) !== inode) continue
    if (byte !== undefined && (Number(first) > byte || Number(last) < byte)) continue
    // The pid of a process outside this container is 0.
    if (Number(pid) > 0) return Number(pid)
  }
  return null
}

/** Runs `work` and throws its errors translated. */
export function translated<T>(work: () => T, file: string | null): T {
  try {
    return work()
  } catch (error) {
    throw translate(error, file)
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')
}
