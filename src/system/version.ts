import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MisconfiguredError } from '../core/errors.ts'

/** The version of the package. Its manifest is the nearest one above: the source and the bundle are in
 *  folders of different depth. */
export function version(): string {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** The Node-API version that better-sqlite3 needs. Its addon ends an older Node without an error. */
const neededNodeApi = 10

/** Throws MisconfiguredError if this Node is older than 22.14, the oldest that Skein runs on. */
export function requireNode({ node, napi }: NodeJS.ProcessVersions = process.versions): void {
  if (Number(napi) >= neededNodeApi) return
  throw new MisconfiguredError('node', `this is Node ${node}: Skein needs Node 22.14 or newer`, {
    hint: 'Install a newer Node: https://nodejs.org',
  })
}
