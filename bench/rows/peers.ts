import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type ContenderName, openContender, type PeerName } from '../contender.ts'
import { median, middleOf, pairedRatio, timeEach } from '../measure.ts'
import { installPeers } from '../peers/install.ts'
import { inFreshProcess, StoppedError, startSteps } from '../process.ts'
import { type Bench, type Line, rounds, rowSeconds, type Suite, seriesOf, stops, time } from '../suite.ts'
import { makeTurn, workId } from '../workload.ts'

/** Our store, the floor and two libraries for the same purpose, on the same turns, all with NORMAL, which is
 *  the libraries' own setting. Fewer turns than in our own rows, because some of theirs take seconds. */

const names = ['floor', 'ours', 'langgraph', 'mastra'] as const
type Name = ContenderName | PeerName

const of100 = workId(100)
const of500 = workId(500)
const of5000 = workId(5_000)
/** For the warm-up. */
const another = workId(99)
const groups = 3

interface Args {
  readonly name: Name
  readonly file: string
  readonly round: number
  readonly conversations: number
}

/** The three conversations, and as many empty ones as the lists need. A long one is filled in a few large
 *  steps: turn by turn, the largest would take LangGraph many minutes. */
async function fill({ name, file, conversations }: Args): Promise<null> {
  const contender = await openContender(name, file, name === 'floor' || name === 'ours' ? 'off' : 'normal')
  contender.beginBulk()
  let number = 0
  for (const [id, turns] of [
    [another, 25],
    [of100, 25],
    [of500, 125],
    [of5000, 1_250],
  ] as const) {
    await contender.create(id, 'a conversation')
    let head: string | null = null
    for (let done = 0; done < turns; done += 25) {
      const messages = Array.from({ length: 25 }, () => makeTurn(number++).messages).flat()
      head = await contender.append(id, head, { ...makeTurn(number), messages: messages as never })
    }
  }
  if (name !== 'langgraph') {
    for (let i = 0; i < conversations; i++) await contender.create(workId(10_000 + i), `conversation ${i}`)
  }
  contender.endBulk()
  await contender.close()
  return null
}

/** Microseconds; null for an operation that a peer does not have. */
interface Measured {
  readonly at100: number
  readonly at5000: number
  readonly load500: number
  readonly load5000: number
  readonly list: number | null
  readonly fork: number | null
}

async function* measure({ name, file, round }: Args): AsyncGenerator<Measured> {
  const contender = await openContender(name, file, 'normal')
  const heads = new Map<string, string | null>()
  for (const id of [another, of100, of500, of5000]) heads.set(id, await contender.head(id))
  let next = 1_000_000 + round * 10_000
  const appending = (id: string) => async () => {
    heads.set(id, await contender.append(id, heads.get(id)!, makeTurn(next++)))
  }
  const loading = (id: string) => () => contender.load(id, heads.get(id)!)
  const forking = async () => contender.fork(of500, heads.get(of500)!, `fork-${next++}`)
  const has = name !== 'langgraph'
  const slow = name === 'langgraph'
  const isQuick = name === 'floor' || name === 'ours'
  const middle = async (count: number, call: () => unknown) => median(await timeEach(count, call))
  await timeEach(isQuick ? 1_000 : 5, appending(another))
  await timeEach(isQuick ? 20 : 1, loading(of100))
  if (isQuick) {
    await timeEach(500, () => contender.list())
    await timeEach(500, forking)
  }
  for (let group = 0; group < groups; group++) {
    yield {
      at100: await middle(slow ? 5 : 20, appending(of100)),
      at5000: await middle(slow ? 2 : 20, appending(of5000)),
      load500: await middle(3, loading(of500)),
      load5000: await middle(1, loading(of5000)),
      list: has ? await middle(isQuick ? 100 : 5, () => contender.list()) : null,
      fork: has ? await middle(isQuick ? 100 : 3, forking) : null,
    }
  }
  await contender.close()
}

interface Grown {
  readonly messages: number
  readonly bytes: number
}

/** One conversation, turn by turn, up to 5,000 messages or to the time limit. */
async function* grow({ name, file }: Args): AsyncGenerator<Grown> {
  const contender = await openContender(name, file, 'normal')
  await contender.create(of5000, 'a conversation')
  let head: string | null = null
  for (let turn = 1; turn <= 1_250; turn++) {
    head = await contender.append(of5000, head, makeTurn(turn))
    if (turn % 50 === 0) {
      const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
      // Pages that are only in the log will be in the file; pages in both count once.
      yield { messages: turn * 4, bytes: Math.max(statSync(file).size, log) }
    }
  }
  await contender.close()
  yield { messages: 5_000, bytes: statSync(file).size }
}

async function bytesOf(bench: Bench, name: Name): Promise<Grown> {
  const deadline = performance.now() + rowSeconds * 1_000
  const args: Args = { name, file: join(bench.place, `grown-${name}.db`), round: 0, conversations: 0 }
  const steps = startSteps<Grown>({ suite: 'peers', task: 'grow', args })
  let last: Grown = { messages: 0, bytes: 0 }
  try {
    for (let next = await steps.next(deadline); next; next = await steps.next(deadline)) last = next
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error
    stops.push(`bytes of ${name} were stopped after ${rowSeconds} s, at ${last.messages} of 5,000 messages`)
  }
  return last
}

export const peersSuite: Suite = {
  name: 'peers',
  when: 'full',
  tasks: { fill, measure, grow },
  async run(bench) {
    installPeers()
    const [conversations] = bench.scale.conversations
    const args = (name: Name, round = 0): Args => ({
      ...{ name, file: join(bench.place, `peers-${name}.db`), round, conversations },
    })
    for (const name of names) await inFreshProcess({ suite: 'peers', task: 'fill', args: args(name) })
    const measured = await rounds<Name, Measured>(3, names, { suite: 'peers', task: 'measure' }, args)
    const series = (name: Name, key: keyof Measured) => seriesOf(measured[name], key) as number[][]
    const shown = (name: Name, key: keyof Measured): string => {
      if (series(name, key)[0]?.[0] === null) return 'none'
      return times(pairedRatio(series(name, key), series('floor', key)).middle)
    }
    const line = (work: string, key: keyof Measured): Line => ({
      work: `${work}, NORMAL`,
      floor: time(middleOf(series('floor', key))),
      ours: time(middleOf(series('ours', key))),
      ratio: pairedRatio(series('ours', key), series('floor', key)),
      langgraph: shown('langgraph', key),
      mastra: shown('mastra', key),
    })
    return [
      line('peers: append a turn at 100 messages', 'at100'),
      line('peers: append a turn at 5,000 messages', 'at5000'),
      line('peers: load 500 messages', 'load500'),
      line('peers: load 5,000 messages', 'load5000'),
      line(`peers: list 20 of ${conversations.toLocaleString('en')}`, 'list'),
      line('peers: fork at 500 messages', 'fork'),
      await bytesLine(bench),
    ]
  },
}

async function bytesLine(bench: Bench): Promise<Line> {
  const grown = new Map<Name, Grown>()
  for (const name of names) grown.set(name, await bytesOf(bench, name))
  const each = (name: Name) => grown.get(name)!.bytes / grown.get(name)!.messages
  const shown = (name: Name) =>
    `${times(each(name) / each('floor'))}${grown.get(name)!.messages < 5_000 ? ` at ${grown.get(name)!.messages}` : ''}`
  return {
    work: 'peers: bytes a message, one conversation of 5,000',
    floor: each('floor').toFixed(0),
    ours: each('ours').toFixed(0),
    ratio: each('ours') / each('floor'),
    langgraph: shown('langgraph'),
    mastra: shown('mastra'),
  }
}

function times(ratio: number): string {
  return `${ratio < 10 ? ratio.toFixed(1) : Math.round(ratio).toLocaleString('en')}×`
}
