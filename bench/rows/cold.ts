import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bundleColdProcesses } from '../cold-bundles.ts'
import type { ColdTask } from '../cold-process.ts'
import { type Cold, type ColdArgs, coldTurns } from '../cold-turns.ts'
import { type ContenderName, openContender } from '../contender.ts'
import { median, middleOf, pairedRatio } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurns, workId } from '../workload.ts'

/** The first turns of a process: commands that run once have no others. Each measurement is a new process. */

const root = join(import.meta.dirname, '../..')
const kinds = ['floor', 'library', 'compiled'] as const
type Kind = (typeof kinds)[number]
const groups = 10

/** Makes the conversations, each with 25 turns. */
async function fill({ name, file }: ColdArgs & { readonly name: ContenderName }): Promise<null> {
  const contender = await openContender(name, file, 'off')
  contender.beginBulk()
  let made = 0
  for (let i = 0; i < coldTurns; i++) {
    await contender.create(workId(i), `conversation ${i}`)
    let head: string | null = null
    for (const turn of makeTurns(made, 25)) head = await contender.append(workId(i), head, turn)
    made += 25
  }
  contender.endBulk()
  await contender.close()
  return null
}

async function run(task: ColdTask): Promise<Cold> {
  const { NODE_EXTRA_CA_CERTS: _, NODE_OPTIONS: __, ...env } = process.env
  const script = join(task.folder, 'process.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(task)], { env })
  return JSON.parse(stdout) as Cold
}

export const coldSuite: Suite = {
  name: 'cold',
  when: 'byName',
  tasks: { fill },
  async run(bench) {
    using bundles = await bundleColdProcesses()
    const library = join(root, 'dist/stores/sqlite/index.js')
    if (!existsSync(library)) throw new Error('The library has to be built: npm run build')
    const lines: Line[] = []
    for (const durability of ['full', 'normal'] as const) {
      const taskOf = (kind: Kind, from: number): ColdTask => {
        const file = join(bench.place, `cold-${kind}-${durability}.db`)
        return { kind, file, durability, from: from * coldTurns, library, folder: bundles.folder }
      }
      for (const kind of kinds) {
        const args = { ...taskOf(kind, 0), name: kind === 'floor' ? 'floor' : 'ours' }
        await inFreshProcess({ suite: 'cold', task: 'fill', args })
      }
      await run({ ...taskOf('compiled', 500), kind: 'compile' })
      const found: Record<Kind, Cold[][]> = { floor: [], library: [], compiled: [] }
      for (let round = 0; round < bench.scale.rounds; round++) {
        for (const kind of kinds) found[kind].push([])
        for (let group = 0; group < groups; group++) {
          for (const kind of kinds)
            found[kind][round]!.push(await run(taskOf(kind, 1_000 + round * groups + group)))
        }
      }
      lines.push(lineOf(durability, 'library', found), lineOf(durability, 'compiled', found))
    }
    return lines
  },
}

const whyCold =
  'the first turn is a third to a half of the sum: V8 parses and compiles functions when they are first ' +
  'called (half of its instructions), and SQLite compiles its statements (at most an eighth). Turns 2 to 20 ' +
  'run in the interpreter, with no line of a profile above 3 %, and are twice as fast at the end as at the ' +
  'beginning.'

function lineOf(
  durability: 'full' | 'normal',
  kind: 'library' | 'compiled',
  found: Record<Kind, Cold[][]>,
): Line {
  const each = (of: Cold[][]) => of.map(round => round.map(one => one.each))
  const firstTurn = (of: Cold[][]) => time(median(of.flat().map(one => one.first)))
  const value = middleOf(each(found[kind]))
  const how = kind === 'compiled' ? ' with compiled code, as the command has it' : ''
  return {
    work: `each of the first ${coldTurns} turns of a process${how}, ${durability.toUpperCase()}`,
    floor: time(middleOf(each(found.floor))),
    ours: time(value),
    ratio: pairedRatio(each(found[kind]), each(found.floor)),
    value,
    ...(durability === 'normal' && { goal: 400, why: whyCold }),
    note: `the goal is in µs; the first turn ${firstTurn(found[kind])}, floor ${firstTurn(found.floor)}`,
  }
}
