import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { openStore } from '../../src/stores/open.ts'
import { middleOf, pairedRatio } from '../measure.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, rounds, type Suite, seriesOf, time } from '../suite.ts'
import { facts, factsLines } from './facts.ts'
import { startServer } from './http-child.ts'

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

async function* serve({ name, file }: { name: 'floor' | 'ours'; file: string }): AsyncGenerator<Requests> {
  const ids = await stock(file)
  using server = await startServer(name, file)
  const { port } = server
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

const manyMessages = 100_000

/** The memory that a server takes more at most while it sends 100,000 messages, in MB. */
async function memory({ file }: { file: string }): Promise<number> {
  let id = ''
  {
    await using store = await openStore(file, { durability: 'normal', indexing: 'manual' })
    const { conversation, branch } = await store.create()
    id = conversation.id
    const content = 'some words of a message '.repeat(10)
    const messages = Array.from({ length: 2_000 }, () => ({ role: 'user', content }) as const)
    let { head } = branch
    for (let n = 0; n < manyMessages; n += messages.length)
      head = (await store.append(branch, head, messages)).head
  }
  using server = await startServer('ours', file)
  const url = `http://127.0.0.1:${server.port}/api/v1/conversations/${id}`
  const headers = { authorization: 'Bearer skein_benchmark' }
  for (let n = 0; n < 20; n++) await (await fetch(`${url}?limit=100&before=${1_000 + n}`, { headers })).text()
  const used = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))![1]) / 1_024
  const before = used()
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, used())
  }, 5)
  const { body } = await fetch(url, { headers })
  let bytes = 0
  for await (const chunk of body!) bytes += chunk.length
  clearInterval(timer)
  if (bytes < manyMessages * 200) throw new Error(`the server sent only ${bytes} bytes`)
  return most - before
}

export const httpSuite: Suite = {
  name: 'http',
  tasks: { serve, memory, facts },
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
      ...(await factsLines(place)),
      ...(process.platform === 'linux' ? [await memoryLine(place)] : []),
    ]
  },
}

async function memoryLine(place: string): Promise<Line> {
  const args = { file: join(place, 'http-memory.db') }
  const value = await inFreshProcess<number>({ suite: 'http', task: 'memory', args })
  const work = 'HTTP: a conversation of 100,000 messages, memory'
  return { work, ours: `${value.toFixed(0)} MB more`, value, goal: 64, note: 'the goal is in MB' }
}
