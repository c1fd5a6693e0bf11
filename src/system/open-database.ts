import { existsSync } from 'node:fs'

/** Whether a process may have this file open with SQLite, as a database or as the index of its write-ahead
 *  log. The file must not be read in another way by a process that uses it: when that is closed, the system
 *  releases all locks of the process on the file, and others may write over what it writes. */
export function isOpenDatabase(path: string): boolean {
  return path.endsWith('-shm') || existsSync(`${path}-shm`)
}
