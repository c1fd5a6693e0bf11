import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

const place = join(import.meta.dirname, '..')

/** Installs the libraries for comparison next to the bench, not as our own dependencies. Runs again only
 *  after a change of the lock file. */
export function installPeers(): void {
  const done = join(place, 'node_modules/.package-lock.json')
  const lock = join(place, 'package-lock.json')
  if (existsSync(done) && statSync(done).mtimeMs >= statSync(lock).mtimeMs) return
  console.error('bench: installing the peers into bench/node_modules, as on every first run (200 MB)')
  // No scripts: the only one would compile SQLite, for which the package ships a build.
  const args = ['ci', '--ignore-scripts', '--no-fund', '--no-audit', '--loglevel=error']
  const { status } = spawnSync('npm', args, { cwd: place, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('the peers could not be installed; -- --no-peers goes without them')
  useOneSqlite()
}

/** All contenders use our own copy of SQLite, which has the same version: two copies in one process lose each
 *  other's locks on a file. */
export function useOneSqlite(): void {
  rmSync(join(place, 'node_modules/better-sqlite3'), { recursive: true, force: true })
}
