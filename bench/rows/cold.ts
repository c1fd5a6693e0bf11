import { join } from 'node:path'
import { type ContenderName, type Durability, openContender } from '../contender.ts'
import { median, middleOf, pairedRatio } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurns, workId } from '../workload.ts'

/** The first turns of a process: commands that run once have no others. Each measurement is a new process. */

const names = ['floor', 'ours'] as const
const turns = 20
const groups = 10

interface ColdArgs {
  readonly name: ContenderName
  readonly file: string
  readonly durability: Durability
  readonly from: number
}

/** Microseconds: of the first turn, and of each of the first twenty. */
interface Cold {
  readonly first: number
  readonly each: number
}

async function fill({ name, file }: ColdArgs): Promise<null> {
  const contender = await openContender(name, file, 'off')
  contender.beginBulk()
  let made = 0
  for (let i = 0; i < turns; i++) {
    await contender.create(workId(i), `conversation ${i}`)
    let head: string | null = null
    for (const turn of makeTurns(made, 25)) head = await contender.append(workId(i), head, turn)
    made += 25
  }
  contender.endBulk()
  await contender.close()
  return null
}

async function cold({ name, file, durability, from }: ColdArgs): Promise<Cold> {
  const work = makeTurns(from, turns)
  const contender = await openContender(name, file, durability)
  let first = 0
  let spent = 0
  for (const [i, turn] of work.entries()) {
    const head = await contender.head(workId(i))
    const begin = performance.now()
    await contender.append(workId(i), head, turn)
    spent += performance.now() - begin
    first ||= spent
    await new Promise(setImmediate)
  }
  await contender.close()
  return { first: first * 1_000, each: (spent * 1_000) / turns }
}

export const coldSuite: Suite = {
  name: 'cold',
  when: 'byName',
  tasks: { fill, cold },
  async run(bench) {
    const lines: Line[] = []
    for (const durability of ['full', 'normal'] as const) {
      const argsOf = (name: ContenderName, from: number): ColdArgs => {
        return { name, file: join(bench.place, `cold-${name}-${durability}.db`), durability, from }
      }
      for (const name of names) await inFreshProcess({ suite: 'cold', task: 'fill', args: argsOf(name, 0) })
      const found = { floor: [] as Cold[][], ours: [] as Cold[][] }
      for (let round = 0; round < bench.scale.rounds; round++) {
        for (const name of names) found[name].push([])
        for (let group = 0; group < groups; group++) {
          for (const name of names) {
            const args = argsOf(name, (1_000 + round * groups + group) * turns)
            found[name][round]!.push(await inFreshProcess<Cold>({ suite: 'cold', task: 'cold', args }))
          }
        }
      }
      lines.push(lineOf(durability, found))
    }
    return lines
  },
}

const whyCold =
  'the first turn is a third to a half of the sum: V8 parses and compiles functions when they are first ' +
  'called (half of its instructions), SQLite compiles its statements (at most an eighth), and from `dist` Node ' +
  'loads its `crypto`, 4 ms of processor time. Turns 2 to 20 run in the interpreter, with no line of a profile ' +
  'above 3 %, and are twice as fast at the end as at the beginning.'

function lineOf(durability: 'full' | 'normal', { floor, ours }: Record<'floor' | 'ours', Cold[][]>): Line {
  const each = (of: Cold[][]) => of.map(round => round.map(one => one.each))
  const firstTurn = (of: Cold[][]) => time(median(of.flat().map(one => one.first)))
  const value = middleOf(each(ours))
  return {
    work: `each of the first ${turns} turns of a process, ${durability.toUpperCase()}`,
    floor: time(middleOf(each(floor))),
    ours: time(value),
    ratio: pairedRatio(each(ours), each(floor)),
    value,
    ...(durability === 'normal' && { goal: 400, why: whyCold }),
    note: `the goal is in µs; the first turn ${firstTurn(ours)}, floor ${firstTurn(floor)}`,
  }
}
