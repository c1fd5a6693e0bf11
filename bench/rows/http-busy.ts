import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import type { MessageId } from '../../src/core/ids.ts'
import { openStore } from '../../src/stores/open.ts'
import { inFreshProcess } from '../process.ts'
import { type Line, type Suite, time } from '../suite.ts'
import { messagesOf } from './block-calls.ts'
import { startServer } from './http-child.ts'

/** How long a client of the service waits for a short answer while 32 others search by rank, export a
 *  conversation as a page, or read contexts. */

const conversations = 10
/** Of each conversation. */
const messages = 2_000
const others = 32
const runMs = 3_000

/** Microseconds. */
interface Waits {
  readonly median: number
  readonly p99: number
  /** Answers to the others, per second. */
  readonly answers: number
}

type Busy = Record<string, Waits>

async function busy({ file }: { readonly file: string }): Promise<Busy> {
  const id = await fill(file)
  using server = await startServer('ours', file)
  const agent = new Agent({ keepAlive: true })
  const get = async (path: string) => {
    const headers = { authorization: 'Bearer skein_benchmark' }
    const call = request({ port: server.port, agent, headers, path: `/api/v1${path}` })
    call.end()
    const [response] = await once(call, 'response')
    response.resume()
    await once(response, 'end')
    if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`)
  }
  const works = {
    'nothing else': null,
    [`${others} search by rank`]: '/search?q=error%20function&order=ranked',
    [`${others} read 200 messages`]: `/conversations/${id}/messages?limit=200`,
    [`${others} export a page`]: `/conversations/${id}/export?format=html`,
  }
  const found: Busy = {}
  await waits(get, '/search?q=error%20function&order=ranked', 500)
  for (const [name, path] of Object.entries(works)) found[name] = await waits(get, path, runMs)
  agent.destroy()
  return found
}

/** Returns the id of one of the conversations. */
async function fill(file: string): Promise<string> {
  await using store = await openStore(file, { durability: 'normal', indexing: 'manual' })
  let id = ''
  for (let n = 0; n < conversations; n++) {
    const { conversation, branch } = await store.create({ title: `Conversation ${n}` })
    let head: MessageId | null = null
    for (let from = 0; from < messages; from += 4)
      head = (await store.append(branch, head, messagesOf(n * messages + from))).head
    id = conversation.id
  }
  await store.indexSearch()
  return id
}

/** The times of a list of conversations, one after the other, while the others send their requests. */
async function waits(get: (path: string) => Promise<void>, path: string | null, ms: number): Promise<Waits> {
  const times: number[] = []
  let answers = 0
  const end = performance.now() + ms
  const other = async () => {
    for (; performance.now() < end; answers++) await get(path!)
  }
  const all = path === null ? [] : Array.from({ length: others }, other)
  while (performance.now() < end) {
    const start = performance.now()
    await get('/conversations?limit=20')
    times.push((performance.now() - start) * 1_000)
  }
  await Promise.all(all)
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!
  return { median: at(0.5), p99: at(0.99), answers: answers / (ms / 1_000) }
}

export const httpBusySuite: Suite = {
  name: 'busy',
  when: 'byName',
  tasks: { busy },
  async run({ place }) {
    const args = { file: join(place, 'busy.db') }
    const found = await inFreshProcess<Busy>({ suite: 'busy', task: 'busy', args })
    return Object.entries(found).map(
      ([name, { median, p99, answers }]): Line => ({
        work: `HTTP: a list of 20, p99, while ${name}`,
        ours: time(p99),
        value: p99 / 1_000,
        goal: 100,
        note: `the goal is in ms; median ${time(median)}; ${answers.toFixed(0)} other answers a second`,
      }),
    )
  },
}
