import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundled } from './bundle.ts'

/** Writes the licences of the packages that the bundles contain into one file. `from` is the folder of the
 *  package that is built. Throws if a licence is not found. */
export function writeLicenses(from: string, file: string): void {
  const folders = [join(from, 'node_modules'), join(from, 'node_modules/lowlight/node_modules')]
  const texts = [...bundled, 'better-sqlite3'].map(name => {
    // The nested one is the one that is bundled.
    const folder = folders.map(one => join(one, name)).findLast(existsSync)
    const text = folder === undefined ? undefined : licenseIn(folder)
    if (text === undefined) throw new Error(`no licence of ${name} was found`)
    return `# ${name}\n\n${text.trim()}\n`
  })
  writeFileSync(file, `Packages that are part of these files, and their licences.\n\n${texts.join('\n')}`)
}

function licenseIn(folder: string): string | undefined {
  const name = readdirSync(folder).find(file => /^licen[sc]e/i.test(file))
  return name === undefined ? undefined : readFileSync(join(folder, name), 'utf8')
}
