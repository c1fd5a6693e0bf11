import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** The addon of better-sqlite3 for this machine, or null where its own way of looking for it is wanted. That way asks
 *  Node for a report about the whole process, only to learn which C library it was linked with.
 *  `version` is the one whose JavaScript was bundled: an addon belongs to exactly that. */
export function findAddon(version: string): string | null {
  const { platform, arch } = process
  if (!['x64', 'arm64'].includes(arch)) return null
  if (platform !== 'darwin' && !(platform === 'linux' && isLinkedWithGlibc())) return null
  // Below this package, or beside it, as Node would look, but without its rules for finding packages.
  for (const folder of ['../../node_modules', '../../..']) {
    const driver = join(import.meta.dirname, folder, 'better-sqlite3')
    const manifest = readIfThere(join(driver, 'package.json'))
    if (manifest === null) continue
    return manifest.includes(`"version": "${version}"`)
      ? join(driver, 'prebuilds', `${platform}-${arch}.node`)
      : null
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

/** A program for Linux names its loader in the first page, and the loader the C library: `ld-linux` or `ld-musl`. */
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
