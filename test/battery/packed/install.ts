import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isBuilt } from '../../../scripts/build/source-stamp.ts'
import { root, run } from '../../../scripts/check/command.ts'
import { linkPacked, pack } from '../../../scripts/check/packed.ts'
import { isFull } from '../size.ts'

/** A project of an application, outside of the repository, with the packed file and the programs of
 *  `project/`. The battery installs it with npm. The gate, which must not need the registry, unpacks it
 *  beside what the repository has installed. */
export async function installPacked(): Promise<string> {
  if (!isBuilt(root)) await run(process.execPath, [join(root, 'scripts/build.ts')])
  const project = mkdtempSync(join(tmpdir(), 'skein-packed-'))
  cpSync(join(import.meta.dirname, 'project'), project, { recursive: true })
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n')
  if (isFull) await install(project)
  else await linkPacked(project)
  return project
}

async function install(project: string): Promise<void> {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    devDependencies: Readonly<Record<string, string>>
  }
  const peers = ['ai', 'pg'].map(name => `${name}@${devDependencies[name]}`)
  const flags = ['--no-audit', '--no-fund']
  await run('npm', ['install', ...flags, await pack(project), ...peers], { cwd: project })
}
