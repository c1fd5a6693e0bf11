import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'

/** A directory as the system names it, and as it stands in the store: a client may come by another way. */
export function directoryOf(cwd: string): string {
  try {
    return realpathSync(cwd)
  } catch {
    return resolve(cwd)
  }
}
