import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The output of a program, and what it loaded. */
export interface Run {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
  /** Files that were loaded, as URLs: by Node, and by the start of the built command, which reads them. */
  readonly files: readonly string[]
  /** Built-in modules that Node loaded, by their internal names. */
  readonly builtins: readonly string[]
}

/** Records every loaded file, also those that the built command reads and runs itself, and at the end the
 *  loaded built-in modules. */
const witness = `
const { registerHooks } = require('node:module')
const fs = require('node:fs')
const { writeFileSync, readFileSync } = fs
const { pathToFileURL } = require('node:url')
const files = new Set()
fs.readFileSync = (file, ...how) => {
  if (typeof file === 'string' && file.endsWith('.cjs')) files.add(pathToFileURL(file).href)
  return readFileSync(file, ...how)
}
const before = new Set(process.moduleLoadList)
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) files.add(url)
    return next(url, context)
  },
})
process.on('exit', () => {
  const builtins = process.moduleLoadList.filter(name => !before.has(name))
  writeFileSync(process.env.WITNESS, JSON.stringify({ files: [...files], builtins }))
})`

/** Runs a program of Node and records what it loads. `place` is a folder for the record. */
export function runWithWitness(
  args: readonly string[],
  { place, cwd, env }: { readonly place: string; readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Run {
  const [preload, report] = [join(place, 'witness.cjs'), join(place, 'witness.json')]
  writeFileSync(preload, witness)
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--require', preload, ...args], {
    cwd,
    env: { ...env, WITNESS: report },
    encoding: 'utf8',
  })
  const seen = JSON.parse(readFileSync(report, 'utf8')) as Pick<Run, 'files' | 'builtins'>
  return { stdout, stderr, code: status, ...seen }
}
