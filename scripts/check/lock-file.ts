import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './command.ts'
import { passed, type Step } from './step.ts'

/** What the check reads of a lock file. */
export interface LockFile {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly integrity?: string; readonly optional?: boolean }>
  >
}

/** The differences of two lock files that give a user other packages. npm writes some fields only in newer
 *  versions, and adds the packages of other platforms when the registry has them: these do not count. */
export function changedPackages(before: LockFile, after: LockFile): readonly string[] {
  const paths = new Set([...Object.keys(before.packages), ...Object.keys(after.packages)])
  return [...paths].sort().flatMap(path => {
    const [old, now] = [before.packages[path], after.packages[path]]
    if (!old) return now?.optional ? [] : [`${path}: added`]
    if (!now) return [`${path}: removed`]
    return old.version === now.version && old.integrity === now.integrity
      ? []
      : [`${path}: ${old.version} is now ${now.version}`]
  })
}

/** The installed packages are those of the committed lock file: `npm install`, which has run, has changed
 *  none. */
export const lockFileCheck: Step = {
  name: 'lock-file',
  async run() {
    const committed = JSON.parse(await run('git', ['show', 'HEAD:package-lock.json'])) as LockFile
    const installed = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile
    const changed = changedPackages(committed, installed)
    if (changed.length > 0) throw new Error(`npm install changed packages:\n${changed.join('\n')}`)
    if (await run('git', ['status', '--porcelain', '--', 'package.json']))
      throw new Error('npm install changed package.json')
    return passed(1)
  },
}
