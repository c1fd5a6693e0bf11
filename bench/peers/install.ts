import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

const place = join(import.meta.dirname, '..')

/** Installs the libraries that we compare with, beside the bench and not among our own dependencies. Once: a new
 *  lock file makes it install again. */
export function installPeers(): void {
  const done = join(place, 'node_modules/.package-lock.json')
  const lock = join(place, 'package-lock.json')
  if (existsSync(done) && statSync(done).mtimeMs >= statSync(lock).mtimeMs) return
  console.error('bench: installing the peers into bench/node_modules, as on every first run (200 MB)')
  // No scripts: the one that is there would compile SQLite, for which the package brings a build along.
  const args = ['ci', '--ignore-scripts', '--no-fund', '--no-audit', '--loglevel=error']
  const { status } = spawnSync('npm', args, { cwd: place, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('the peers could not be installed; -- --no-peers goes without them')
  useOneSqlite()
}

/** All contenders run on our own copy of SQLite, which is of the same version: two copies in one process lose each
 *  other's locks on a file. */
export function useOneSqlite(): void {
  rmSync(join(place, 'node_modules/better-sqlite3'), { recursive: true, force: true })
}
