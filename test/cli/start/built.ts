import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { strangeEnvironment } from '../../support/place.ts'
import { buildCommand } from '../built-command.ts'

/** The output of one run of the command, and what it loaded. */
export interface Run {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
  /** Files that Node loaded. */
  readonly files: readonly string[]
  /** Built-in modules that Node loaded, by their internal names. */
  readonly builtins: readonly string[]
}

/** The built command, in a folder of its own. */
export interface Built {
  readonly place: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly entry: string
  /** The bundle with the code of most commands. */
  readonly main: string
  run(args: readonly string[]): Run
  [Symbol.dispose](): void
}

/** Builds the command. */
export async function build(): Promise<Built> {
  const place = mkdtempSync(join(tmpdir(), 'skein-built-'))
  const cwd = join(place, 'work')
  mkdirSync(cwd)
  const entry = await buildCommand(place)
  const main = join(dirname(entry), 'main.cjs')
  // The Node settings of these tests would load further files.
  const { NODE_OPTIONS: _, NODE_COMPILE_CACHE: __, ...args } = process.env
  const env = { ...strangeEnvironment(place, args), LANG: 'C.UTF-8' }
  return {
    place,
    cwd,
    env,
    entry,
    main,
    run: args => run(entry, args, { place, cwd, env }),
    [Symbol.dispose]: () => rmSync(place, { recursive: true, force: true }),
  }
}

/** Records every loaded file, and at the end the loaded built-in modules. */
const witness = `
const { registerHooks } = require('node:module')
const { writeFileSync } = require('node:fs')
const files = []
const before = new Set(process.moduleLoadList)
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) files.push(url)
    return next(url, context)
  },
})
process.on('exit', () => {
  const builtins = process.moduleLoadList.filter(name => !before.has(name))
  writeFileSync(process.env.WITNESS, JSON.stringify({ files, builtins }))
})`

function run(
  entry: string,
  args: readonly string[],
  { place, cwd, env }: { place: string; cwd: string; env: NodeJS.ProcessEnv },
): Run {
  const [preload, report] = [join(place, 'witness.cjs'), join(place, 'witness.json')]
  writeFileSync(preload, witness)
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--require', preload, entry, ...args], {
    cwd,
    env: { ...env, WITNESS: report },
    encoding: 'utf8',
  })
  const seen = JSON.parse(readFileSync(report, 'utf8')) as Pick<Run, 'files' | 'builtins'>
  return { stdout, stderr, code: status, ...seen }
}
