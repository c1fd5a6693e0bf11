import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes the licences of the packages in these folders, which the bundles contain, into one file. Throws if
 *  a licence is not found. */
export function writeLicenses(folders: readonly string[], file: string): void {
  const texts = folders.map(folder => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
    return `# ${manifest.name} ${manifest.version}\n\n${licenseIn(folder, manifest).trim()}\n`
  })
  writeFileSync(file, `Packages that are part of these files, and their licences.\n\n${texts.join('\n')}`)
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
}

/** The licence of a package. Some have no file, and name it in their manifest. */
function licenseIn(folder: string, { name: packageName, license }: Manifest): string {
  const name = readdirSync(folder).find(file => /^licen[sc]e/i.test(file))
  if (name !== undefined) return readFileSync(join(folder, name), 'utf8')
  if (license !== 'MIT') throw new Error(`no licence was found in ${folder}`)
  const own = readFileSync(join(import.meta.dirname, '../../LICENSE'), 'utf8')
  return own.replace(/^Copyright .*$/m, `Copyright (c) the authors of ${packageName}`)
}
