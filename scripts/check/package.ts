import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { strangeEnvironment } from '../../test/support/place.ts'
import { CommandError, root, run } from './command.ts'
import { pack } from './packed.ts'
import { checkInProject } from './project.ts'
import { passed, type Step } from './step.ts'

interface Manifest {
  readonly exports: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** The package as its users get it: packed, installed in an empty project, and every entry imported. */
export const packageCheck: Step = {
  name: 'package',
  async run(place) {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
    const tarball = await pack(place)
    // Both only read, while npm waits for the registry and the disk.
    const linted = run('publint', ['--strict']).then(() => run('attw', [tarball, '--profile', 'esm-only']))
    const [tried] = await Promise.all([tryInstalled(place, tarball, manifest), linted])
    return passed(2 + tried)
  },
}

/** Installs the packed file in the empty folder `place`. Returns how many things were tried. */
async function tryInstalled(place: string, tarball: string, manifest: Manifest): Promise<number> {
  writeFileSync(join(place, 'package.json'), '{ "private": true, "type": "module" }\n')
  // Not --prefer-offline: npm would combine lists of versions from before and after a release.
  const flags = ['--no-audit', '--no-fund']
  await run('npm', ['install', ...flags, tarball, `pg@${manifest.devDependencies.pg}`], { cwd: place })
  const names = readdirSync(join(place, 'node_modules/skein'), { recursive: true, encoding: 'utf8' })
  if (names.some(name => name.endsWith('.map')))
    throw new Error('the package has source maps without sources')
  checkSize(join(place, 'node_modules/skein'), names)
  checkLinks(join(place, 'node_modules/skein'), names)
  await runCommand(place)
  await failReadably(place)
  const entries = Object.keys(manifest.exports)
  await importAll(place, entries)
  // pg is an optional peer: SQLite users need not install it.
  renameSync(join(place, 'node_modules/pg'), join(place, 'node_modules/.pg'))
  await importAll(
    place,
    entries.filter(entry => entry !== './postgres'),
  )
  return 3 + entries.length + (await checkInProject(place))
}

/** Half of 8.9 MB, which the package once had, and 110 kB for faster starts, searches with their contract,
 *  syncs of the disk, recovery, damaged fields, and a branch with its tail in one request. */
const mostBytes = 4_580_000

function checkSize(folder: string, names: readonly string[]): void {
  const bytes = names.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0)
  if (bytes > mostBytes) throw new Error(`the package has ${bytes} bytes unpacked; the limit is ${mostBytes}`)
}

function sizeOf(path: string): number {
  const found = statSync(path)
  return found.isFile() ? found.size : 0
}

/** Links between the pages lead to files of the package, except those that the README names as links into the
 *  repository. */
function checkLinks(folder: string, names: readonly string[]): void {
  for (const name of names.filter(one => one.endsWith('.md'))) {
    const text = readFileSync(join(folder, name), 'utf8').replace(/^- In the repository only:.*?\n\n/ms, '')
    for (const [, target = ''] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target) || existsSync(join(folder, dirname(name), target))) continue
      throw new Error(`${name} links to ${target}, which is not in the package`)
    }
  }
}

/** The command finds its files and its addon where a package manager has installed them. */
async function runCommand(project: string): Promise<void> {
  const env = strangeEnvironment(join(project, 'machine'), process.env)
  const skein = (...args: readonly string[]) =>
    run(process.execPath, [join(project, 'node_modules/.bin/skein'), ...args], { cwd: project, env })
  await skein('-m', 'scripted', 'my name is Ada')
  for (const look of [['ls'], ['show'], ['search', 'Ada']]) {
    const said = await skein(...look)
    if (!said.includes('Ada')) throw new Error(`skein ${look.join(' ')}, as it is installed, says: ${said}`)
  }
}

/** Node prints the source line of an uncaught error: a file in one line would fill the screen. */
async function failReadably(project: string): Promise<void> {
  const file = join(project, 'uncaught.js')
  writeFileSync(
    file,
    `import { openStore } from 'skein'
const store = await openStore(':memory:')
const { branch } = await store.create()
await store.append(branch, null, [{ role: 'user', content: 'hello', model: 'a name' }])\n`,
  )
  const said = await run(process.execPath, [file], { cwd: project }).catch((error: unknown) => {
    if (error instanceof CommandError) return error.message
    throw error
  })
  if (!said.includes('InvalidError: messages[0].model: unknown field'))
    throw new Error(`an uncaught error of the library does not say what is wrong: ${said.slice(0, 2_000)}`)
  if (said.length > 3_000)
    throw new Error(`an uncaught error of the library prints ${said.length} characters`)
}

async function importAll(project: string, entries: readonly string[]): Promise<void> {
  const script = entries.map(entry => {
    const name = `skein${entry.slice(1)}`
    const attributes = name.endsWith('.json') ? `, { with: { type: 'json' } }` : ''
    return `if (Object.keys(await import('${name}'${attributes})).length === 0) throw new Error('${name} is empty')`
  })
  const file = join(project, 'import-all.js')
  writeFileSync(file, `${script.join('\n')}\n`)
  await run(process.execPath, [file], { cwd: project })
}
