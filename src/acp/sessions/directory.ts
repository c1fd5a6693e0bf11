import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'

/** The real path of a directory, as the store has it. A client may use another path to the same directory. */
export function directoryOf(cwd: string): string {
  try {
    return realpathSync(cwd)
  } catch {
    return resolve(cwd)
  }
}
