import { closeSync, fsyncSync, linkSync, lstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { UsageError } from '../command-line/usage-error.ts'

/** A file that has its name when it is finished, and not before. */
export interface NewFile {
  readonly bytes: number
  write(text: string): void
  /** Waits for the disk and gives the file its name. */
  finish(): void
  /** Leaves nothing behind. Does nothing once it is finished. */
  [Symbol.dispose](): void
}

/** Begins a file beside the one that is meant. What has the name stays, unless forced; then it is replaced, not written
 *  into, so that a link leads nowhere. What is no plain file is never replaced. Only its owner can read it. */
export function createNewFile(file: string, force: boolean): NewFile {
  const there = explained(file, () => lstatSync(file, { throwIfNoEntry: false }))
  if (there && !there.isFile() && !there.isSymbolicLink()) {
    throw new UsageError(`${file} is no plain file`, 'Name another')
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
      while (left.length > 0) left = left.subarray(writeSync(fd, left))
    },
    finish() {
      fsyncSync(fd)
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

/** Writes a text as a new file, whole or not at all. */
export function writeNewFile(file: string, text: string, force: boolean): void {
  using made = createNewFile(file, force)
  made.write(text)
  made.finish()
}

function opened(unfinished: string, file: string): number {
  return explained(file, () => openSync(unfinished, 'wx', 0o600))
}

/** Asks the file system for something, and says what to do if the name is to blame. */
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
      default:
        throw error
    }
  }
}

/** A second name for the file, which nobody else can have taken meanwhile; then the first one goes. */
function giveName(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw taken(file)
    // Not every file system has links.
    if (lstatSync(file, { throwIfNoEntry: false })) throw taken(file)
    renameSync(unfinished, file)
    return
  }
  rmSync(unfinished, { force: true })
}

/** The name is only certain once the folder is on the disk. Not every system can be asked. */
function syncFolder(folder: string): void {
  try {
    const fd = openSync(folder, 'r')
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    // The file is there; a folder that cannot be opened is none of its business.
  }
}

function taken(file: string): UsageError {
  return new UsageError(`${file} is there already`, 'To write over it: --force')
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
