import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The version of the package. Its manifest is the nearest one above: the source and the bundle are in
 *  folders of different depth. */
export function version(): string {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
