import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Growth, GrowthPoint } from '../../scripts/docs/growth-picture.ts'
import { type Contender, openContender } from '../contender.ts'
import { median, timeEach } from '../measure.ts'
import { installPeers } from '../peers/install.ts'
import { StoppedError, startSteps } from '../process.ts'
import { type Bench, type Line, rowSeconds, type Suite, stops, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** One conversation that grows turn by turn, with NORMAL, which is the other libraries' own setting. At each
 *  size: an append, the newest 40 messages, and the whole conversation. Each contender has 60 seconds, so its
 *  line ends where it would need more. */

const names = ['floor', 'ours', 'langgraph', 'mastra'] as const
type Name = (typeof names)[number]

const sizes = [12, 20, 40, 100, 200, 400, 1_000, 2_000, 4_000, 10_000, 20_000, 40_000, 100_000] as const
const id = workId(1)

interface Args {
  readonly name: Name
  readonly file: string
  readonly most: number
}

async function* grow({ name, file, most }: Args): AsyncGenerator<GrowthPoint> {
  const contender = await openContender(name, file, 'normal')
  await contender.create(id, 'a conversation')
  await warmUp(contender)
  let head: string | null = null
  let turns = 0
  const append = async () => {
    head = await contender.append(id, head, makeTurn(turns++))
  }
  for (const size of sizes.filter(one => one <= most)) {
    let last: number[] = []
    while (turns * 4 < size) last = [...last.slice(-8), ...(await timeEach(1, append))]
    const isLong = size > 10_000
    yield {
      messages: size,
      append: median(last),
      tail: median(await timeEach(isLong ? 3 : 9, () => contender.tail(id, head!))),
      load: median(await timeEach(isLong ? 1 : 3, () => contender.load(id, head!))),
    }
  }
  await contender.close()
}

/** The first calls of a process are slow for every contender: uses another conversation for a second. */
async function warmUp(contender: Contender): Promise<void> {
  const other = workId(2)
  await contender.create(other, 'another conversation')
  const until = performance.now() + 1_000
  let head: string | null = null
  for (let turn = 0; performance.now() < until && turn < 500; turn++) {
    head = await contender.append(other, head, makeTurn(1_000_000 + turn))
    await contender.tail(other, head)
  }
}

async function grown(bench: Bench, name: Name): Promise<readonly GrowthPoint[]> {
  const most = bench.scale.history
  const deadline = performance.now() + rowSeconds * 1_000
  const args: Args = { name, file: join(bench.place, `growth-${name}.db`), most }
  const steps = startSteps<GrowthPoint>({ suite: 'growth', task: 'grow', args })
  const points: GrowthPoint[] = []
  try {
    for (let next = await steps.next(deadline); next; next = await steps.next(deadline)) points.push(next)
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error
    stops.push(`growth of ${name} was stopped after ${rowSeconds} s, behind ${points.at(-1)?.messages}`)
  }
  return points
}

export const growthSuite: Suite = {
  name: 'growth',
  when: 'byName',
  tasks: { grow },
  async run(bench) {
    installPeers()
    const all = {} as Record<Name, readonly GrowthPoint[]>
    for (const name of names) all[name] = await grown(bench, name)
    const growth: Growth = { measured: new Date().toISOString().slice(0, 10), ...all }
    if (bench.scale.history === sizes.at(-1)) {
      writeFileSync(join(import.meta.dirname, '../growth.json'), `${JSON.stringify(growth, rounded, 2)}\n`)
      stops.push('bench/growth.json was written; `npm run docs` draws docs/performance.svg from it')
    }
    return sizes.flatMap(size => linesOf(growth, size))
  },
}

/** Tenths of a microsecond are enough. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 10) / 10 : value
}

function linesOf(growth: Growth, size: number): readonly Line[] {
  const at = (name: Name) => growth[name].find(({ messages }) => messages === size)
  const ours = at('ours')
  if (!ours) return []
  const shown = (name: Name, key: 'append' | 'tail' | 'load') => {
    const point = at(name)
    return point ? time(point[key]) : 'stopped'
  }
  const works = { append: 'append a turn', tail: 'newest 40', load: 'load' } as const
  return (['append', 'tail', 'load'] as const).map(key => ({
    work: `growth: ${works[key]} at ${size.toLocaleString('en')} messages`,
    floor: shown('floor', key),
    ours: time(ours[key]),
    langgraph: shown('langgraph', key),
    mastra: shown('mastra', key),
  }))
}
