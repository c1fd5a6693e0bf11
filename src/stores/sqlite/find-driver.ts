import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** The files of better-sqlite3, as it is installed. */
export interface DriverFiles {
  readonly addon: string
  readonly error: string
}

/** Finds better-sqlite3 and its addon for this machine; null lets better-sqlite3 search itself. That creates
 *  a report about the whole process to learn which C library is linked. `version` is the version of the
 *  bundled JavaScript: the addon has to match it exactly. Only bundles import this file. */
export function findDriver(version: string): DriverFiles | null {
  const { platform, arch } = process
  if (!['x64', 'arm64'].includes(arch)) return null
  if (platform !== 'darwin' && !(platform === 'linux' && isLinkedWithGlibc())) return null
  // In this package or next to it, as Node would search, but without its resolution rules.
  for (const folder of ['../../node_modules', '../../..']) {
    const driver = join(import.meta.dirname, folder, 'better-sqlite3')
    const manifest = readIfThere(join(driver, 'package.json'))
    if (manifest === null) continue
    if (!manifest.includes(`"version": "${version}"`)) return null
    return {
      addon: join(driver, 'prebuilds', `${platform}-${arch}.node`),
      error: join(driver, 'lib/sqlite-error.js'),
    }
  }
  return null
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

/** An executable for Linux names its loader in the first page, and the loader names the C library: `ld-linux`
 *  or `ld-musl`. */
function isLinkedWithGlibc(): boolean {
  const beginning = Buffer.alloc(4096)
  const file = openSync(process.execPath, 'r')
  try {
    readSync(file, beginning)
  } finally {
    closeSync(file)
  }
  return beginning.includes('/ld-linux')
}
