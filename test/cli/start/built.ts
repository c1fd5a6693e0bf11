import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bundleHashOf } from '../../../scripts/build/bundle.ts'
import { codeFileName } from '../../../src/cli/start/code-file.ts'
import { strangeEnvironment } from '../../support/place.ts'
import { type Run, runWithWitness } from '../../support/witness.ts'
import { buildCommand } from '../built-command.ts'

/** The built command, in a folder of its own. */
export interface Built {
  readonly place: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly entry: string
  /** The folder of the bundle. */
  readonly folder: string
  /** The file with the code that V8 compiled at build time. */
  readonly code: string
  run(args: readonly string[]): Run
  [Symbol.dispose](): void
}

/** Builds the command. */
export async function build(): Promise<Built> {
  const place = mkdtempSync(join(tmpdir(), 'skein-built-'))
  const cwd = join(place, 'work')
  mkdirSync(cwd)
  const entry = await buildCommand(place)
  const folder = dirname(entry)
  // The Node settings of these tests would load further files.
  const { NODE_OPTIONS: _, NODE_COMPILE_CACHE: __, ...args } = process.env
  const env = { ...strangeEnvironment(place, args), LANG: 'C.UTF-8' }
  return {
    place,
    cwd,
    env,
    entry,
    folder,
    code: join(folder, codeFileName(bundleHashOf(folder))),
    run: args => runWithWitness([entry, ...args], { place, cwd, env }),
    [Symbol.dispose]: () => rmSync(place, { recursive: true, force: true }),
  }
}
