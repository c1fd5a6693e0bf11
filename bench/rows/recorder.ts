import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { BranchRef } from '../../src/core/branch.ts'
import type { Store } from '../../src/core/ports.ts'
import { beginTurn } from '../../src/recorder/index.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { middleOf, pairedRatio } from '../measure.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'

/** What recording costs while an answer streams: the same answers over HTTP, read with and without a recorder. */

const names = ['plain', 'recorded'] as const
type Name = (typeof names)[number]

const tokens = 5_000
/** Quicker than the quickest providers: a slower answer only hides more. */
const tokensPerSecond = 2_000
const groups = 2

interface StreamArgs {
  readonly name: Name
  readonly file: string
  readonly url: string
  readonly groups: number
}

/** Microseconds for an answer, and for the processor alone. */
interface Streamed {
  readonly whole: number
  readonly cpu: number
}

async function* stream({ name, file, url, groups }: StreamArgs): AsyncGenerator<Streamed> {
  const store = name === 'recorded' ? await openSqliteStore(file) : null
  const branch = store ? (await store.create()).branch : null
  await ask(store, branch, `${url}?tokens=500`)
  for (let group = 0; group < groups; group++) {
    const cpu = process.cpuUsage()
    const start = performance.now()
    await ask(store, branch, url)
    const whole = (performance.now() - start) * 1_000
    const { user, system } = process.cpuUsage(cpu)
    yield { whole, cpu: user + system }
  }
  await store?.close()
}

/** One turn: the question is stored, the answer while it arrives, and then as a whole. */
async function ask(store: Store | null, branch: BranchRef | null, url: string): Promise<void> {
  const words = [{ role: 'user', blocks: 'Tell me everything.' }] as const
  const turn = store && branch ? await beginTurn(store, branch, { words }) : null
  let answer = ''
  for await (const token of tokensOf(url)) {
    answer += token
    turn?.draft({ type: 'text', text: token })
  }
  await turn?.add([{ role: 'assistant', blocks: answer }], { usage: { output: tokens } })
  await turn?.end('complete')
}

async function* tokensOf(url: string): AsyncGenerator<string> {
  const { body } = await fetch(url)
  let rest = ''
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + chunk).split('\n\n')
    rest = events.pop()!
    for (const event of events) yield (JSON.parse(event.slice('data: '.length)) as { text: string }).text
  }
}

/** A model that answers over HTTP, token by token: at a pace, or as quickly as it can. */
async function startModel(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    const asked = new URL(request.url!, 'http://model').searchParams
    const count = Number(asked.get('tokens') ?? tokens)
    const hurry = asked.has('hurry')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const started = performance.now()
    let sent = 0
    const send = () => {
      const due = hurry ? sent + 20 : Math.floor(((performance.now() - started) * tokensPerSecond) / 1_000)
      for (; sent < Math.min(due, count); sent++) {
        response.write(`data: {"id":"chatcmpl-1","index":0,"text":"word${sent % 10} "}\n\n`)
      }
      if (sent >= count) response.end()
      else if (hurry) setImmediate(send)
      else setTimeout(send, 1)
    }
    send()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

export const recorderSuite: Suite = {
  name: 'recorder',
  tasks: { stream },
  async run(bench) {
    const { server, url } = await startModel()
    try {
      const measure = (query: string, groups: number) =>
        rounds<Name, Streamed>(
          bench.scale.rounds,
          names,
          { suite: 'recorder', task: 'stream' },
          (name, round): StreamArgs => {
            const file = join(bench.place, `recorder-${round}.db`)
            return { name, file, url: `${url}${query}`, groups }
          },
        )
      return linesOf(await measure('', groups), await measure('?hurry', 10))
    } finally {
      server.close()
      server.closeAllConnections()
    }
  },
}

type Measured = Record<Name, Streamed[][]>

function linesOf(paced: Measured, hurried: Measured): readonly Line[] {
  const compare = (measured: Measured, key: keyof Streamed, work: string): Line => {
    const [plain, recorded] = names.map(name => seriesOf(measured[name], key)) as [number[][], number[][]]
    const ratio = pairedRatio(recorded, plain)
    return { work, floor: time(middleOf(plain)), ours: time(middleOf(recorded)), ratio }
  }
  const answer = `answer of ${tokens.toLocaleString('en')} tokens, recorded ÷ not`
  return [
    {
      ...compare(paced, 'whole', `${answer}, at ${tokensPerSecond.toLocaleString('en')} a second`),
      goal: 1.03,
    },
    {
      ...compare(hurried, 'whole', `${answer}, as quickly as HTTP brings it`),
      note: 'three durable writes a turn',
    },
    compare(paced, 'cpu', 'processor time of the same answer, paced'),
  ]
}
