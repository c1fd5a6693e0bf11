import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readContext } from '../../src/context/read-context.ts'
import { summarize } from '../../src/context/summary/summarize.ts'
import type { MessageId } from '../../src/core/ids.ts'
import type { NewMessage } from '../../src/core/message.ts'
import { collectPages } from '../../src/core/pages.ts'
import type { Store } from '../../src/core/ports.ts'
import { leaseMs } from '../../src/core/turn.ts'
import { openStore } from '../../src/stores/open.ts'
import { told } from '../context/model.ts'
import { freshDatabase } from './postgres/database.ts'
import type { News, Order } from './summarizer.ts'

/** Eight processes summarize the same conversation at the same moment, twenty times. Only one may call its
 *  model. Its answer is held back until the others have finished, so that they compete. */
const rounds = 20
const processes = 8

const folder = mkdtempSync(join(tmpdir(), 'summaries-'))
let children: readonly ChildProcess[] = []

beforeAll(() => {
  children = Array.from({ length: processes }, startChild)
})
afterAll(async () => {
  await Promise.all(children.map(kill))
  rmSync(folder, { recursive: true, force: true })
})

function startChild(): ChildProcess {
  const file = fileURLToPath(new URL('summarizer.ts', import.meta.url))
  return fork(file, { execArgv: [], serialization: 'advanced' })
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

async function gather(target: string, careless = false): Promise<void> {
  for (const child of children)
    expect(await tell(child, { do: 'open', target, careless })).toEqual({ is: 'open' })
}

/** Sends an order to a process and returns its next report. */
async function tell(child: ChildProcess, order: Order): Promise<News> {
  const answered = once(child, 'message')
  child.send(order)
  return (await answered)[0] as News
}

async function conversation(store: Store) {
  const { branch } = await store.create()
  const messages = Array.from({ length: 40 }, (_, i): NewMessage => {
    return { role: i % 2 === 0 ? 'user' : 'assistant', content: `message ${i}` }
  })
  const { ids } = await store.append(branch, null, messages)
  return { conversationId: branch.conversationId, ids }
}

/** Starts all processes at once. Returns how many models were called, and the outcomes. */
async function race(heads: readonly MessageId[], place: Awaited<ReturnType<typeof conversation>>) {
  const { conversationId } = place
  const first = await Promise.all(
    children.map((child, i) =>
      tell(child, { do: 'summarize', conversationId, head: heads[i % heads.length]! }),
    ),
  )
  const asked = children.filter((_, i) => first[i]!.is === 'asked')
  const later = await Promise.all(asked.map(child => tell(child, { do: 'answer' })))
  const outcomes = [...first, ...later].flatMap(news => (news.is === 'done' ? [news.outcome] : []))
  return { asked: asked.length, outcomes: outcomes.sort() }
}

const expected = [...Array.from({ length: processes - 1 }, () => 'busy'), 'made']

const drivers = [
  { name: 'SQLite', target: async () => join(folder, 'race.db') },
  { name: 'PostgreSQL', target: freshDatabase },
]

describe.each(drivers)('summarize in eight processes on $name', ({ target }) => {
  let store: Store
  let place: string
  beforeAll(async () => {
    place = await target()
    store = await openStore(place)
    await gather(place)
  })
  afterAll(() => store.close())

  it('calls one model for the summary of a conversation, every time', { timeout: 60_000 }, async () => {
    for (let round = 0; round < rounds; round++) {
      const talk = await conversation(store)
      expect(await race([talk.ids.at(-1)!], talk)).toEqual({ asked: 1, outcomes: expected })
      const summaries = await collectPages(page => store.listSummaries(talk.conversationId, page))
      expect(summaries).toMatchObject([{ first: talk.ids[0], last: talk.ids[29] }])
      const again = await race([talk.ids.at(-1)!], talk)
      expect(again).toEqual({ asked: 0, outcomes: Array.from({ length: processes }, () => 'reused') })
    }
  })

  it('calls one model if the processes see different heads', { timeout: 60_000 }, async () => {
    for (let round = 0; round < rounds; round++) {
      const talk = await conversation(store)
      const heads = [talk.ids[39]!, talk.ids[35]!, talk.ids[31]!]
      expect(await race(heads, talk)).toEqual({ asked: 1, outcomes: expected })
    }
  })

  it('calls several models if no process claims the range (negative control)', {
    timeout: 60_000,
  }, async () => {
    await gather(place, true)
    for (let attempt = 0; attempt < 3; attempt++) {
      const talk = await conversation(store)
      const { asked } = await race([talk.ids.at(-1)!], talk)
      expect(asked).toBeGreaterThan(1)
    }
  })
})

describe('a process that is killed while it summarizes (R2)', () => {
  it('leaves the conversation unchanged; another process summarizes it when the claim has expired', {
    timeout: 60_000,
  }, async () => {
    const target = join(folder, 'killed.db')
    const store = await openStore(target)
    const later = await openStore(target, {
      source: { now: () => Date.now() + leaseMs, uuid: () => randomUUID() },
    })
    const model = told(() => 'after the crash')
    const options = { model, window: { limit: 100_000 }, after: () => () => {} }
    const holder = { host: 'other', boot: 'b', pid: 1, startedAt: 1 }
    for (let round = 0; round < 5; round++) {
      const talk = await conversation(store)
      const place = { conversationId: talk.conversationId, head: talk.ids.at(-1)! }
      const child = startChild()
      await tell(child, { do: 'open', target, careless: false })
      expect(await tell(child, { do: 'summarize', ...place })).toEqual({ is: 'asked' })
      await kill(child)
      expect(await summarize(store, place, { ...options, holder })).toMatchObject({ outcome: 'busy' })
      expect(await collectPages(page => store.listSummaries(talk.conversationId, page))).toEqual([])
      const { fitted } = await readContext(store, place.head, { limit: 100_000 })
      expect(fitted.messages).toHaveLength(40)
      expect(await summarize(later, place, { ...options, holder })).toMatchObject({
        outcome: 'made',
        messages: 30,
      })
      expect(await collectPages(page => store.listSummaries(talk.conversationId, page))).toMatchObject([
        { text: 'after the crash' },
      ])
    }
    await store.close()
    await later.close()
  })
})
