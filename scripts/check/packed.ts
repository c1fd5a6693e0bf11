import { mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './command.ts'

/** Packs the repository into a folder, and returns the path of the packed file. */
export async function pack(folder: string): Promise<string> {
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder])
  return join(folder, readdirSync(folder).find(name => name.endsWith('.tgz')) ?? '')
}

/** Unpacks the package into `node_modules` of a project, as it is published: a file that it lacks is missing
 *  here too. All that is installed in the repository is beside it, without a registry. */
export async function linkPacked(project: string): Promise<void> {
  const modules = join(project, 'node_modules')
  mkdirSync(modules)
  await run('tar', ['-xzf', await pack(modules), '-C', modules])
  renameSync(join(modules, 'package'), join(modules, 'skein'))
  for (const name of readdirSync(join(root, 'node_modules')))
    if (!name.startsWith('.') && name !== 'skein')
      symlinkSync(join(root, 'node_modules', name), join(modules, name))
}
