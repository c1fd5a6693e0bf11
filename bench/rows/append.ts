import { statSync } from 'node:fs'
import BetterSqlite3 from 'better-sqlite3'
import { type Contender, type ContenderName, type Durability, openContender } from '../contender.ts'
import { median, middleOf, pairedRatio } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Bench, type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'
import { makeTurn, makeTurns } from '../workload.ts'
import { deep, makeWorld, nextTurn, setsFor, short, worldFile } from '../world.ts'

const names = ['floor', 'floor-hash', 'ours'] as const

/** A group is 60 turns to twenty short conversations, and 60 to eight long ones. */
const groups = 6
const size = 60
const warmUp = 1_500

interface AppendArgs {
  readonly name: ContenderName
  readonly file: string
  readonly durability: Durability
  readonly set: number
  readonly from: number
}

/** Microseconds per turn. */
interface Appends {
  readonly at100: number
  readonly at5000: number
  /** The total time, including checkpoints between turns. */
  readonly whole: number
  readonly cpu: number
}

async function* append({ name, file, durability, set, from }: AppendArgs): AsyncGenerator<Appends> {
  const contender = await openContender(name, file, durability)
  const heads = await headsOf(contender, [...short(0), ...short(set), ...deep])
  const turns = makeTurns(from, warmUp + groups * 2 * size)
  await write(short(0), warmUp)
  for (let group = 0; group < groups; group++) {
    const cpu = process.cpuUsage()
    const start = performance.now()
    const at100 = median(await write(short(set), size))
    const at5000 = median(await write(deep, size))
    const whole = ((performance.now() - start) * 1_000) / (2 * size)
    const { user, system } = process.cpuUsage(cpu)
    yield { at100, at5000, whole, cpu: (user + system) / (2 * size) }
  }
  await contender.close()

  async function write(ids: readonly string[], count: number): Promise<number[]> {
    const times: number[] = []
    for (let i = 0; i < count; i++) {
      const id = ids[i % ids.length]!
      const turn = turns.pop()!
      const head = heads.get(id)!
      const begin = performance.now()
      heads.set(id, await contender.append(id, head, turn))
      times.push((performance.now() - begin) * 1_000)
      // As between the turns of a real process: here a store may do work for which no caller should wait.
      await new Promise(setImmediate)
    }
    return times
  }
}

async function headsOf(contender: Contender, ids: readonly string[]): Promise<Map<string, string | null>> {
  const heads = new Map<string, string | null>()
  for (const id of ids) heads.set(id, await contender.head(id))
  return heads
}

/** Pages written to the log per turn. The number does not depend on the load of the machine. */
async function frames({ name, file, from }: AppendArgs): Promise<number> {
  const contender = await openContender(name, file, 'normal')
  const heads = await headsOf(contender, deep)
  const write = async (turn: number) => {
    const id = deep[turn % deep.length]!
    heads.set(id, await contender.append(id, heads.get(id)!, makeTurn(from + turn)))
  }
  await write(0)
  // An open reader prevents the log from restarting.
  const reader = new BetterSqlite3(file, { readonly: true })
  reader.exec('BEGIN; SELECT count(*) FROM sqlite_master')
  const before = framesIn(file)
  const count = 200
  for (let turn = 1; turn <= count; turn++) await write(turn)
  const after = framesIn(file)
  reader.close()
  await contender.close()
  return (after - before) / count
}

function framesIn(file: string): number {
  return (statSync(`${file}-wal`).size - 32) / (4_096 + 24)
}

export const appendSuite: Suite = {
  name: 'append',
  tasks: { append, frames },
  async run(bench) {
    await Promise.all(names.map(name => makeWorld(bench, name)))
    const lines: Line[] = []
    for (const [i, durability] of (['full', 'normal'] as const).entries()) {
      const measured = await rounds<ContenderName, Appends>(
        bench.scale.rounds,
        names,
        { suite: 'append', task: 'append' },
        (name, round): AppendArgs => {
          const set = 1 + i * bench.scale.rounds + round
          return { name, file: worldFile(bench, name), durability, set, from: nextTurn + set * 10_000 }
        },
      )
      lines.push(...linesOf(durability, measured))
    }
    return [...lines, await framesLine(bench)]
  },
}

const whyAppend =
  'an append has 140 to 170 µs more than the floor, with NORMAL and with FULL alike. Half is JavaScript ' +
  '(checks, JSON, eight hashes), which takes twice as long between two commits as in a loop of its own; a ' +
  'fifth is pages of the log (ids are hashes, as in floor-hash, and the branch has a row); the rest is ' +
  'statements: the holder of the branch, the turn and its index, the counters. A profile has no line above 4 %.'

function linesOf(durability: 'full' | 'normal', measured: Record<ContenderName, Appends[][]>): Line[] {
  const pick = (name: ContenderName, key: keyof Appends) => seriesOf(measured[name], key)
  const label = durability.toUpperCase()
  const against = (floor: 'floor' | 'floor-hash', key: keyof Appends, work: string, goal?: number): Line => ({
    work: floor === 'floor' ? work : `${work}, against floor-hash`,
    floor: time(middleOf(pick(floor, key))),
    ours: time(middleOf(pick('ours', key))),
    ratio: pairedRatio(pick('ours', key), pick(floor, key)),
    ...(goal !== undefined && { goal, why: whyAppend }),
  })
  const goal = durability === 'full' ? 1.35 : 1.9
  return [
    against('floor', 'at100', `append a turn at 100 messages, ${label}`, goal),
    against('floor-hash', 'at100', `append a turn at 100 messages, ${label}`, 1.4),
    against('floor', 'at5000', `append a turn at 5,000 messages, ${label}`, goal),
    against('floor-hash', 'at5000', `append a turn at 5,000 messages, ${label}`, 1.4),
    {
      work: `append at 5,000 ÷ at 100, ${label}`,
      floor: pairedRatio(pick('floor', 'at5000'), pick('floor', 'at100')).middle.toFixed(2),
      ours: 'see above',
      ratio: pairedRatio(pick('ours', 'at5000'), pick('ours', 'at100')),
      goal: 1.15,
    },
    against(
      'floor',
      'whole',
      `append with the checkpoints between turns, ${label}`,
      durability === 'full' ? 1.4 : undefined,
    ),
    against('floor', 'cpu', `processor time of an append, ${label}`),
  ]
}

async function framesLine(bench: Bench): Promise<Line> {
  const pages: number[] = []
  for (const name of names) {
    const from = nextTurn + setsFor(bench) * 10_000
    const args: AppendArgs = { name, file: worldFile(bench, name), durability: 'normal', set: 0, from }
    pages.push(await inFreshProcess<number>({ suite: 'append', task: 'frames', args }))
  }
  const [floor, hash, ours] = pages as [number, number, number]
  return {
    work: 'log pages a turn, at 5,000',
    floor: floor.toFixed(1),
    ours: ours.toFixed(1),
    ratio: ours / floor,
    note: `floor-hash ${hash.toFixed(1)}`,
  }
}
