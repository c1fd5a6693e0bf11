import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openStore } from '../../src/stores/open.ts'
import { middleOf, pairedRatio } from '../measure.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'

/** Requests per second of the HTTP service, compared with a bare handler that calls the store in the same
 *  way. The servers run in processes of their own; eight connections send one request after the other. */

const names = ['floor', 'ours'] as const
const connections = 8
const groups = 8

/** Microseconds per request. */
interface Requests {
  readonly messages: number
  readonly append: number
  readonly list: number
}

const conversations = 40

/** A file with conversations of 30 messages in ten turns. */
async function stock(file: string): Promise<readonly string[]> {
  await using store = await openStore(file, { durability: 'normal', indexing: 'manual' })
  const ids: string[] = []
  for (let n = 0; n < conversations; n++) {
    const { conversation, branch } = await store.create({ title: `Conversation ${n}` })
    let { head } = branch
    for (let turn = 0; turn < 10; turn++) {
      const words = (kind: string) => `${kind} ${turn} of ${n}: ${'words and more words '.repeat(10)}`
      const appended = await store.append(
        branch,
        head,
        [
          { role: 'user', content: words('question') },
          { role: 'assistant', content: words('answer') },
          { role: 'assistant', content: words('second answer') },
        ],
        { turn: { key: `t${turn}`, step: 0, model: 'scripted', usage: { input: 9, output: 9 } } },
      )
      head = appended.head
    }
    ids.push(conversation.id)
  }
  return ids
}

async function* serve({ name, file }: { name: string; file: string }): AsyncGenerator<Requests> {
  const ids = await stock(file)
  const server: ChildProcess = spawn(
    process.execPath,
    [join(import.meta.dirname, '../http-server.ts'), name, file],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  try {
    const [port] = await once(createInterface({ input: server.stdout! }), 'line')
    const agent = new Agent({ keepAlive: true, maxSockets: connections })
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'one more message of some words' }] })
    const [reading, writing] = [ids.slice(0, ids.length / 2), ids.slice(ids.length / 2)]
    const works = {
      messages: (n: number) => send(`/${reading[n % reading.length]}/messages?limit=30`, null, 200),
      append: (n: number) => send(`/${writing[n % writing.length]}/messages`, body, 201),
      list: () => send('?limit=20', null, 200),
    }
    for (const work of Object.values(works)) await perRequest(100, work)
    for (let group = 0; group < groups; group++) {
      yield {
        messages: await perRequest(200, works.messages),
        append: await perRequest(200, works.append),
        list: await perRequest(100, works.list),
      }
    }
    agent.destroy()

    async function send(path: string, sent: string | null, expected: number): Promise<void> {
      const headers = {
        authorization: 'Bearer skein_benchmark',
        ...(sent !== null && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(sent),
        }),
      }
      const method = sent === null ? 'GET' : 'POST'
      const call = request({ port, agent, method, headers, path: `/api/v1/conversations${path}` })
      call.end(sent)
      const [response] = await once(call, 'response')
      response.resume()
      await once(response, 'end')
      if (response.statusCode !== expected) throw new Error(`${name} ${path}: ${response.statusCode}`)
    }
  } finally {
    server.kill()
  }
}

/** Microseconds per request, of requests over all connections. */
async function perRequest(count: number, send: (n: number) => Promise<void>): Promise<number> {
  const start = performance.now()
  let next = 0
  const one = async () => {
    for (let n = next++; n < count; n = next++) await send(n)
  }
  await Promise.all(Array.from({ length: connections }, one))
  return ((performance.now() - start) * 1_000) / count
}

export const httpSuite: Suite = {
  name: 'http',
  tasks: { serve },
  async run({ scale, place }) {
    const { floor, ours } = await rounds<(typeof names)[number], Requests>(
      Math.min(scale.rounds, 3),
      names,
      { suite: 'http', task: 'serve' },
      (name, round) => ({ name, file: join(place, `http-${name}-${round}.db`) }),
    )
    const line = (work: string, key: keyof Requests): Line => ({
      work,
      floor: time(middleOf(seriesOf(floor, key))),
      ours: time(middleOf(seriesOf(ours, key))),
      // Requests per second: the floor's time divided by ours.
      ratio: pairedRatio(seriesOf(floor, key), seriesOf(ours, key)),
      goal: 0.6,
      more: true,
    })
    return [
      line('HTTP: 30 messages of a path', 'messages'),
      line('HTTP: append a message', 'append'),
      line('HTTP: list 20 conversations', 'list'),
    ]
  },
}
