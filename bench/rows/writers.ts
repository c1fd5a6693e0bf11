import { join } from 'node:path'
import { type ContenderName, openContender } from '../contender.ts'
import { median } from '../measure.ts'
import { inFreshProcess, startSteps } from '../process.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** Several processes that write to one file as fast as they can, each to its own conversation. The floor uses
 *  SQLite's own waiting. With a file each, they show how much the machine does at once. */

const counts = [1, 2, 4] as const
type Count = (typeof counts)[number]
const runMs = 3_000

/** Turns of each writer before the measurement. V8 compiles the code of a new process during about so many,
 *  in each of them, so that four processes of three seconds would spend four times as much on it as one. */
const warmUp = 1_500

interface WriteArgs {
  readonly name: ContenderName
  readonly file: string
  readonly durability: 'full' | 'normal'
  readonly writer: number
}

interface Written {
  readonly turns: number
  readonly errors: number
  /** Microseconds. */
  readonly longest: number
}

async function open({ name, file }: WriteArgs): Promise<null> {
  const contender = await openContender(name, file, 'normal')
  for (let writer = 0; writer < Math.max(...counts); writer++)
    await contender.create(workId(writer), 'one of several')
  await contender.close()
  return null
}

/** Reports first that it is ready, so that all start at the same moment. */
async function* write({ name, file, durability, writer }: WriteArgs): AsyncGenerator<Written | 'ready'> {
  const contender = await openContender(name, file, durability)
  const id = workId(writer)
  const turns = Array.from({ length: 500 }, (_, i) => makeTurn(writer * 100_000 + i))
  let head = await contender.head(id)
  const turnOf = (n: number) => ({ ...turns[n % turns.length]!, key: `turn-${writer}-${n}` })
  for (let n = 0; n < warmUp; n++) head = await contender.append(id, head, turnOf(n))
  const written = { turns: 0, errors: 0, longest: 0 }
  yield 'ready'
  for (const end = performance.now() + runMs; performance.now() < end; ) {
    const begin = performance.now()
    try {
      head = await contender.append(id, head, turnOf(warmUp + written.turns))
      written.turns++
    } catch {
      written.errors++
    }
    written.longest = Math.max(written.longest, (performance.now() - begin) * 1_000)
  }
  await contender.close()
  yield written
}

interface Together {
  readonly name: ContenderName
  readonly durability: 'full' | 'normal'
  readonly writers: Count
  /** The file of a writer. */
  readonly fileOf: (writer: number) => string
}

interface Shared {
  readonly fairness: number
  readonly turns: number
  readonly errors: number
  readonly longest: number
}

async function together({ name, durability, writers, fileOf }: Together): Promise<Shared> {
  const each = Array.from({ length: writers }, (_, writer): WriteArgs => {
    return { name, file: fileOf(writer), durability, writer }
  })
  for (const file of new Set(each.map(args => args.file)))
    await inFreshProcess({ suite: 'writers', task: 'open', args: { ...each[0]!, file } })
  const all = each.map(args => startSteps<Written | 'ready'>({ suite: 'writers', task: 'write', args }))
  for (const one of all) await one.next()
  const written = (await Promise.all(all.map(one => one.next()))) as Written[]
  for (const one of all) await one.next()
  const turns = written.map(one => one.turns)
  return {
    fairness: Math.min(...turns) / Math.max(...turns),
    turns: turns.reduce((a, b) => a + b),
    errors: written.reduce((sum, one) => sum + one.errors, 0),
    longest: Math.max(...written.map(one => one.longest)),
  }
}

export const writersSuite: Suite = {
  name: 'writers',
  tasks: { open, write },
  async run(bench) {
    const lines: Line[] = []
    for (const durability of ['full', 'normal'] as const) {
      const measured = new Map(counts.map(count => [count, { floor: [], ours: [], apart: [] } as Measured]))
      for (let round = 0; round < Math.ceil(bench.scale.rounds / 3); round++) {
        for (const count of counts) {
          const found = measured.get(count)!
          const fileOf = (name: string) =>
            join(bench.place, `writers-${name}-${count}-${durability}-${round}.db`)
          const given = { durability, writers: count }
          for (const name of ['floor', 'ours'] as const)
            found[name].push(await together({ ...given, name, fileOf: () => fileOf(name) }))
          if (count === 1) continue
          const ownFile = (writer: number) => fileOf(`own-${writer}`)
          found.apart.push(await together({ ...given, name: 'ours', fileOf: ownFile }))
        }
      }
      const alone = measured.get(1)!
      for (const count of counts) {
        if (count > 1) lines.push(...linesOf(count, durability, measured.get(count)!, alone))
      }
    }
    return lines
  },
}

const whyTogether =
  'one writer at a time holds the lock of the file: with NORMAL for 70 % of the time of a single process, so ' +
  'little can be done beside it; with FULL without the sync. The machine does less at once than its two ' +
  'processors promise: see the rows with a file for each process. A writer that follows another reads the ' +
  'pages again that were in its cache. No other way of waiting writes more: writers that never meet, because ' +
  'each has slots of the clock, had 0.83 to 0.96.'

const whyUnfair =
  'a turn is shorter than the time in which a busy machine wakes a waiting process, so the last writer often ' +
  'writes again.'

/** `apart` has a file for each writer. */
type Measured = Record<'floor' | 'ours' | 'apart', Shared[]>

function linesOf(writers: Count, durability: string, measured: Measured, alone: Measured): Line[] {
  const { floor, ours, apart } = measured
  const work = `${writers} processes write one file, ${durability.toUpperCase()}`
  const shown = (all: Shared[]) =>
    `${median(all.map(one => one.fairness)).toFixed(2)}, ` +
    `${median(all.map(one => one.turns / (runMs / 1_000))).toFixed(0)} turns/s`
  const errors = ours.reduce((sum, one) => sum + one.errors, 0)
  const more = (all: Shared[], one: Shared[]) => median(all.map(({ turns }, i) => turns / one[i]!.turns))
  return [
    {
      work: `${work}: turns ÷ turns of one process`,
      floor: more(floor, alone.floor).toFixed(2),
      ours: more(ours, alone.ours).toFixed(2),
      value: more(ours, alone.ours),
      goal: 1,
      more: true,
      why: whyTogether,
    },
    {
      work: `${work}: the row above ÷ that of the floor`,
      ours: (more(ours, alone.ours) / more(floor, alone.floor)).toFixed(2),
    },
    {
      work: `${writers} processes with a file each, ${durability.toUpperCase()}: turns ÷ turns of one process`,
      ours: more(apart, alone.ours).toFixed(2),
    },
    {
      work: `${work}: slowest ÷ fastest`,
      floor: shown(floor),
      ours: shown(ours),
      value: median(ours.map(one => one.fairness)),
      goal: 0.7,
      more: true,
      why: whyUnfair,
      note: `longest wait ${time(Math.max(...ours.map(one => one.longest)))}, floor ${time(Math.max(...floor.map(one => one.longest)))}`,
    },
    {
      work: `${work}: errors`,
      floor: String(floor.reduce((sum, one) => sum + one.errors, 0)),
      ours: String(errors),
      value: errors,
      goal: 0,
    },
  ]
}
