// The goal was set when the library imported it. It takes 3 to 4 ms, once per process.
import 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeCode, encodeCode } from '../src/cli/start/code-file.ts'
import { runBundle } from '../src/cli/start/run-bundle.ts'
import type * as library from '../src/stores/sqlite/index.ts'
import type { measureOurs } from './cold-ours.ts'
import { type Cold, type ColdArgs, measureCold } from './cold-turns.ts'
import { openFloor } from './floor-sqlite.ts'
import { ourContender } from './our-contender.ts'

/** A process of the suite `cold`. It is bundled and loads nothing else: in the process of another suite, the
 *  garbage of its start would be collected during the turns.
 *
 *  - `floor`: the hand-written SQL
 *  - `library`: the built library, as a user imports it
 *  - `compiled`: a bundle of the library with the code that V8 made in a process with `compile`, as the
 *    command runs */

export interface ColdTask extends ColdArgs {
  readonly kind: 'floor' | 'library' | 'compile' | 'compiled'
  /** The built library. */
  readonly library: string
  /** The folder of the bundle. */
  readonly folder: string
}

console.log(JSON.stringify(await measure(JSON.parse(process.argv[2]!) as ColdTask)))

async function measure(task: ColdTask): Promise<Cold> {
  const { file, durability, from, folder } = task
  if (task.kind === 'floor') return measureCold(openFloor(file, durability, 'time'), from)
  if (task.kind === 'library') {
    const { openSqliteStore } = (await import(task.library)) as typeof library
    if (durability === 'off') throw new Error('only for filling')
    return measureCold(ourContender(await openSqliteStore(file, { durability }), null), from)
  }
  const code = task.kind === 'compile' ? null : decodeCode(readFileSync(join(folder, 'code')))
  const bundle = runBundle(folder, code)
  const { measureOurs: run } = bundle.exports as unknown as { measureOurs: typeof measureOurs }
  const cold = await run(task)
  if (code === null)
    writeFileSync(join(folder, 'code'), encodeCode({ commands: [], scripts: bundle.compiled() }))
  else if (bundle.isRefused() || bundle.isIncomplete()) throw new Error('V8 did not use the compiled code')
  return cold
}
