import { chmodSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { InvalidError } from '../../../core/errors.ts'
import { writeNewFile } from '../../transfer/new-file.ts'

/** The text of a settings file; empty if it does not exist. Throws InvalidError. */
export function readSettingsFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new InvalidError(file, `cannot be read: ${(error as Error).message}`)
  }
}

/** Replaces a settings file at once, with its permissions. A symbolic link stays, and the file behind it is
 *  replaced. A new file is readable by its owner only. */
export function writeSettingsFile(file: string, text: string): void {
  const there = statSync(file, { throwIfNoEntry: false })
  const real = there ? realpathSync(file) : file
  mkdirSync(dirname(real), { recursive: true, mode: 0o700 })
  writeNewFile(real, text, true)
  if (there) chmodSync(real, there.mode & 0o777)
}
