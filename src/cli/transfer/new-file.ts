import { closeSync, fsyncSync, linkSync, lstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { StorageFullError } from '../../core/errors.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** A file that gets its name when it is complete. */
export interface NewFile {
  readonly bytes: number
  write(text: string): void
  /** Syncs the file to the disk and renames it. */
  finish(): void
  /** Removes the unfinished file. Does nothing after `finish`. */
  [Symbol.dispose](): void
}

/** Creates a file next to the target. An existing target is kept, unless `force` is set: then it is replaced,
 *  not written into, so that links are not followed. Devices and folders are never replaced. Only the owner
 *  can read the file. */
export function createNewFile(file: string, force: boolean): NewFile {
  const there = explained(file, () => lstatSync(file, { throwIfNoEntry: false }))
  if (there && !there.isFile() && !there.isSymbolicLink()) {
    throw new UsageError(`${file} is not a regular file`, 'Name another')
  }
  if (there && !force) throw taken(file)
  const unfinished = `${file}.${process.pid}.unfinished`
  const fd = opened(unfinished, file)
  let bytes = 0
  let state: 'open' | 'closed' | 'gone' = 'open'

  return {
    get bytes() {
      return bytes
    },
    write(text) {
      let left = Buffer.from(text)
      bytes += left.length
      while (left.length > 0) left = left.subarray(explained(file, () => writeSync(fd, left)))
    },
    finish() {
      explained(file, () => fsyncSync(fd))
      close()
      if (force) renameSync(unfinished, file)
      else giveName(unfinished, file)
      state = 'gone'
      syncFolder(dirname(file))
    },
    [Symbol.dispose]() {
      if (state === 'gone') return
      close()
      rmSync(unfinished, { force: true })
      state = 'gone'
    },
  }

  function close(): void {
    if (state !== 'open') return
    closeSync(fd)
    state = 'closed'
  }
}

/** Writes a text as a new file, completely or not at all. */
export function writeNewFile(file: string, text: string, force: boolean): void {
  using made = createNewFile(file, force)
  made.write(text)
  made.finish()
}

function opened(unfinished: string, file: string): number {
  return explained(file, () => openSync(unfinished, 'wx', 0o600))
}

/** Runs a file system call, and explains errors about the name and the disk. */
function explained<T>(file: string, ask: () => T): T {
  try {
    return ask()
  } catch (error) {
    switch (codeOf(error)) {
      case 'ENOENT':
      case 'ENOTDIR':
        throw new UsageError(`there is no folder ${dirname(file)}`, 'Make it first')
      case 'ERR_INVALID_ARG_VALUE':
        throw new UsageError('the name of a file cannot contain NUL')
      case 'EEXIST':
        throw new UsageError(`${file} is being written already`, 'If not, remove what ends in .unfinished')
      case 'EACCES':
      case 'EPERM':
      case 'EROFS':
        throw new UsageError(`${dirname(file)} cannot be written`, 'Name another file')
      case 'ENOSPC':
      case 'EDQUOT':
        throw new StorageFullError(`the disk is full: ${file}`, {
          cause: error,
          hint: 'Nothing was written. Name a file on another disk',
        })
      default:
        throw error
    }
  }
}

/** Links the file to its name, which fails if another process has taken it, and removes the old name. */
function giveName(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw taken(file)
    // Not every file system supports links.
    if (lstatSync(file, { throwIfNoEntry: false })) throw taken(file)
    renameSync(unfinished, file)
    return
  }
  rmSync(unfinished, { force: true })
}

/** The rename is durable only once the folder is synced. Not every system supports that. */
function syncFolder(folder: string): void {
  try {
    const fd = openSync(folder, 'r')
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    // The file itself is complete, so a folder that cannot be synced is not an error.
  }
}

function taken(file: string): UsageError {
  return new UsageError(`${file} already exists`, 'Overwrite it with --force')
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
