import { join } from 'node:path'
import { type ContenderName, type Durability, openContender } from '../contender.ts'
import { middleOf, pairedRatio } from '../measure.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** One hundred appends in one tick, each to its own conversation, against one hundred transactions of the
 *  floor: called by one function, and by a callback each, as by the requests of a server. And a loop of
 *  awaited appends that does nothing else. */

const names = ['floor', 'ours'] as const
const count = 100
const warmUp = 5
const groups = 10

interface ParallelArgs {
  readonly name: ContenderName
  readonly file: string
  readonly durability: Durability
}

/** Microseconds. */
interface Parallel {
  readonly all: number
  /** Until the first answer. */
  readonly first: number
  /** The same appends, each in a callback of its own. */
  readonly callbacks: number
  /** A turn of the loop. */
  readonly loop: number
}

async function* parallel({ name, file, durability }: ParallelArgs): AsyncGenerator<Parallel> {
  const contender = await openContender(name, file, durability)
  const heads = new Map<string, string | null>()
  for (let i = 0; i < count; i++) {
    await contender.create(workId(i), `conversation ${i}`)
    heads.set(workId(i), null)
  }
  let made = 0
  for (let group = 0; group < warmUp + groups; group++) {
    const turns = Array.from({ length: 3 * count }, () => makeTurn(made++))
    const append = async (id: string) => {
      heads.set(id, await contender.append(id, heads.get(id)!, turns.pop()!))
    }
    let first = 0
    const start = performance.now()
    await Promise.all(
      Array.from(heads.keys(), async id => {
        await append(id)
        first ||= performance.now() - start
      }),
    )
    const all = performance.now() - start
    await pause()
    const started = performance.now()
    await Promise.all(
      Array.from(heads.keys(), async id => {
        await new Promise(setImmediate)
        await append(id)
      }),
    )
    const callbacks = performance.now() - started
    await pause()
    const begin = performance.now()
    for (const id of heads.keys()) await append(id)
    const loop = (performance.now() - begin) / count
    if (group >= warmUp)
      yield {
        all: all * 1_000,
        first: first * 1_000,
        callbacks: callbacks * 1_000,
        loop: loop * 1_000,
      }
  }
  await contender.close()
}

/** Lets a checkpoint and everything else end. */
const pause = () => new Promise(resolve => setTimeout(resolve, 1))

const whyParallel =
  'a single append is 1.4 to 1.6 times the floor (its row has the causes); a loop also pays for copying the ' +
  'log, of which the median of the floor contains nothing.'

export const parallelSuite: Suite = {
  name: 'parallel',
  tasks: { parallel },
  async run(bench) {
    const lines: Line[] = []
    for (const durability of ['full', 'normal'] as const) {
      const measured = await rounds<ContenderName, Parallel>(
        bench.scale.rounds,
        names,
        { suite: 'parallel', task: 'parallel' },
        (name, round): ParallelArgs => {
          return { name, file: join(bench.place, `parallel-${name}-${durability}-${round}.db`), durability }
        },
      )
      lines.push(...linesOf(durability, measured))
    }
    return lines
  },
}

function linesOf(durability: 'full' | 'normal', measured: Record<ContenderName, Parallel[][]>): Line[] {
  const pick = (name: ContenderName, key: keyof Parallel) => seriesOf(measured[name], key)
  const against = (key: 'all' | 'callbacks' | 'loop', work: string, goal?: number, note?: string): Line => ({
    work: `${work}, ${durability.toUpperCase()}`,
    floor: time(middleOf(pick('floor', key))),
    ours: time(middleOf(pick('ours', key))),
    ratio: pairedRatio(pick('ours', key), pick('floor', key)),
    ...(goal !== undefined && { goal, why: whyParallel }),
    ...(note !== undefined && { note }),
  })
  const first = `first answer after ${time(middleOf(pick('ours', 'first')))}`
  const isFull = durability === 'full'
  return [
    against('all', `${count} appends at once`, isFull ? 0.8 : undefined, first),
    against('callbacks', `${count} appends, each from a callback of its own`, isFull ? 0.8 : undefined),
    against('loop', 'an append in a loop that only awaits', isFull ? 1.4 : undefined),
  ]
}
