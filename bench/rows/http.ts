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
 *  way. The servers run in processes of their own; eight connections send one request after the other. And
 *  how much more the service stores for 32 connections than for one. */

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
  const client = clientOf(server.port, connections)
  const [reading, writing] = [ids.slice(0, ids.length / 2), ids.slice(ids.length / 2)]
  const works = {
    messages: (n: number) => client.send(`/${reading[n % reading.length]}/messages?limit=30`, null, 200),
    append: (n: number) => client.send(`/${writing[n % writing.length]}/messages`, oneMore, 201),
    list: () => client.send('?limit=20', null, 200),
  }
  for (const work of Object.values(works)) await perRequest(100, connections, work)
  for (let group = 0; group < groups; group++) {
    yield {
      messages: await perRequest(200, connections, works.messages),
      append: await perRequest(200, connections, works.append),
      list: await perRequest(100, connections, works.list),
    }
  }
  client.close()
}

const oneMore = JSON.stringify({ messages: [{ role: 'user', content: 'one more message of some words' }] })

/** Sends requests over at most so many connections. */
function clientOf(port: number, most: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: most })
  return { send, close: () => agent.destroy() }

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
    if (response.statusCode !== expected) throw new Error(`${path}: ${response.statusCode}`)
  }
}

/** Microseconds per request, of requests over all connections. */
async function perRequest(
  count: number,
  callers: number,
  send: (n: number) => Promise<void>,
): Promise<number> {
  const start = performance.now()
  let next = 0
  const one = async () => {
    for (let n = next++; n < count; n = next++) await send(n)
  }
  await Promise.all(Array.from({ length: callers }, one))
  return ((performance.now() - start) * 1_000) / count
}

const manyConnections = 32

/** Microseconds per append. */
interface Appends {
  readonly one: number
  readonly many: number
}

/** Appends of a connection alone and of many, which the service stores with the default durability. */
async function* crowd({ file }: { file: string }): AsyncGenerator<Appends> {
  const ids = await stock(file)
  using server = await startServer('ours', file, 'full')
  const client = clientOf(server.port, manyConnections)
  const append = (n: number) => client.send(`/${ids[n % ids.length]}/messages`, oneMore, 201)
  await perRequest(1_000, manyConnections, append)
  for (let group = 0; group < groups; group++) {
    yield { one: await perRequest(200, 1, append), many: await perRequest(1_000, manyConnections, append) }
  }
  client.close()
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
  tasks: { serve, crowd, memory, facts },
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
      await crowdLine(Math.min(scale.rounds, 3), place),
      ...(await factsLines(place)),
      ...(process.platform === 'linux' ? [await memoryLine(place)] : []),
    ]
  },
}

async function crowdLine(times: number, place: string): Promise<Line> {
  const { ours } = await rounds<'ours', Appends>(
    times,
    ['ours'],
    { suite: 'http', task: 'crowd' },
    (_, round) => ({ file: join(place, `http-crowd-${round}.db`) }),
  )
  const [one, many] = [seriesOf(ours, 'one'), seriesOf(ours, 'many')]
  return {
    work: `HTTP: appends of ${manyConnections} connections ÷ of one, FULL`,
    floor: time(middleOf(one)),
    ours: time(middleOf(many)),
    // Requests per second: the time of one divided by that of many.
    ratio: pairedRatio(one, many),
  }
}

async function memoryLine(place: string): Promise<Line> {
  const args = { file: join(place, 'http-memory.db') }
  const value = await inFreshProcess<number>({ suite: 'http', task: 'memory', args })
  const work = 'HTTP: a conversation of 100,000 messages, memory'
  return { work, ours: `${value.toFixed(0)} MB more`, value, goal: 64, note: 'the goal is in MB' }
}
