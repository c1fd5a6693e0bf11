import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { FollowEvent } from '../../src/core/follow.ts'
import type { ConversationId, MessageId } from '../../src/core/ids.ts'
import { textOf } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { type StatementTrace, statementChannel } from '../../src/system/debug.ts'
import { holder, say } from '../../src/testing/contract/build.ts'
import { startWorker, type Worker } from '../support/workers.ts'
import { freshDatabase } from './postgres/database.ts'

/** Followers and a writer in another process. */
const folder = mkdtempSync(join(tmpdir(), 'following-'))
let files = 0
const drivers = [
  { name: 'SQLite', target: async () => join(folder, `${++files}.db`) },
  { name: 'PostgreSQL', target: freshDatabase },
] as const
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(drivers)('on $name', ({ target }) => {
  let url: string
  let writer: Worker
  let stores: Store[]
  let id: ConversationId

  beforeEach(async () => {
    url = await target()
    stores = await Promise.all([open(), open()])
    writer = await startWorker()
    await writer.open(url)
    id = (await writer.store.create()).conversation.id
  }, 60_000)
  afterEach(async () => {
    await writer.kill()
    for (const store of stores) await store.close()
  })

  function open(): Promise<Store> {
    return openStore(url, { indexing: 'manual' })
  }

  /** Writes turns with drafts: each has a question, pieces of an answer, and the answer. */
  async function writeTurns(count: number): Promise<string[]> {
    const { store } = writer
    const branch = { conversationId: id, name: 'main' }
    const written: string[] = []
    let head: MessageId | null = (await store.getBranch(branch)).head
    for (let n = 0; n < count; n++) {
      const turn = { key: `turn ${written.length} ${n} ${head}`, status: 'open', holder: holder() } as const
      head = (await store.append(branch, head, [say(`q${n}`)], { turn: { ...turn, step: 0 } })).head
      await store.putDraft(id, turn.key, holder(), [{ n: 0, type: 'text', text: 'a' }])
      await store.putDraft(id, turn.key, holder(), [{ n: 1, type: 'text', text: `${n}` }])
      const end = { ...turn, step: 1, status: 'complete' } as const
      head = (await store.append(branch, head, [say(`a${n}`, 'assistant')], { turn: end })).head
      written.push(`q${n}`, `a${n}`)
    }
    return written
  }

  /** Follows in pieces of a few events, each continued from the last cursor on another handle, until the last
   *  text has come. */
  async function followInPieces(
    start: string,
    last: Promise<string>,
    {
      cuts,
      continued = (cursor: string) => cursor,
    }: { cuts: number; continued?: (cursor: string) => string },
  ): Promise<{ events: FollowEvent[]; cuts: number }> {
    let final: string | null = null
    void last.then(text => {
      final = text
    })
    const events: FollowEvent[] = []
    let cursor = start
    let made = 0
    let random = 12_345
    const isDone = () => final !== null && events.some(event => isMessage(event, final!))
    while (!isDone()) {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31
      const take = made < cuts ? 1 + (random % 2) : Number.POSITIVE_INFINITY
      const stop = new AbortController()
      let taken = 0
      const store = stores[made % stores.length]!
      for await (const event of store.follow(id, { after: continued(cursor), signal: stop.signal })) {
        events.push(event)
        cursor = event.cursor
        if (++taken >= take || isDone()) break
      }
      made++
    }
    return { events, cuts: made }
  }

  it('delivers every message exactly once over 200 cuts, on changing handles', {
    timeout: 120_000,
  }, async () => {
    const start = await startCursor(stores[0]!, id)
    const written = writeTurns(160)
    const { events, cuts } = await followInPieces(
      start,
      written.then(texts => texts.at(-1)!),
      { cuts: 200 },
    )
    expect(cuts).toBeGreaterThanOrEqual(200)
    expect(textsOf(events)).toEqual(await written)
    const seqs = events.flatMap(event => (event.type === 'message' ? event.message.seq : []))
    expect(seqs).toEqual(seqs.map((_, i) => i))
    // States: a turn is told at most twice for each of its writes, and its end once.
    const ends = events.filter(event => event.type === 'turn' && event.turn.status === 'complete')
    expect(new Set(ends.map(event => event.type === 'turn' && event.turn.key)).size).toBe(ends.length)
    expect(repeatedPieces(events)).toEqual([])
  })

  it('would miss messages with cursors that hold only a version (negative control)', async () => {
    const start = await startCursor(stores[0]!, id)
    const written = await writeTurns(5)
    const { next_seq } = { next_seq: written.length }
    const withoutSeq = (cursor: string) => {
      const place = JSON.parse(Buffer.from(cursor, 'base64url').toString())
      return Buffer.from(JSON.stringify([place[0], next_seq, next_seq, ...place.slice(3)])).toString(
        'base64url',
      )
    }
    const stop = new AbortController()
    const events: FollowEvent[] = []
    for await (const event of stores[0]!.follow(id, { after: withoutSeq(start), signal: stop.signal })) {
      events.push(event)
      if (event.type === 'branches') break
    }
    expect(textsOf(events)).not.toEqual(written)
  })

  it('continues after the writer was killed in the middle of an answer', { timeout: 60_000 }, async () => {
    const start = await startCursor(stores[0]!, id)
    const stop = new AbortController()
    const events: FollowEvent[] = []
    const killed = writeTurns(1_000).catch(() => null)
    for await (const event of stores[0]!.follow(id, { after: start, signal: stop.signal })) {
      events.push(event)
      if (event.type === 'draft' && events.length > 40) break
    }
    await writer.kill()
    await killed
    const cursor = events.at(-1)!.cursor
    // What the killed process had committed, and what another one writes.
    const other = stores[1]!
    const { items } = await other.listMessages({ conversationId: id, order: 'ascending', limit: 10_000 })
    const main = { conversationId: id, name: 'main' }
    // The server may still commit the last statement that the killed process had sent.
    await vi.waitFor(
      async () => {
        const [open] = (await other.listTurns(id, { status: 'open' })).items
        if (open) await other.endTurn(id, open.key, { status: 'interrupted', heldBy: holder() })
        await other.append(main, (await other.getBranch(main)).head, [say('after')])
      },
      { timeout: 20_000 },
    )
    for await (const event of other.follow(id, { after: cursor })) {
      events.push(event)
      if (isMessage(event, 'after')) break
    }
    const all = (await other.listMessages({ conversationId: id, order: 'ascending', limit: 10_000 })).items
    expect(textsOf(events)).toEqual(all.map(textOf))
    expect(all.length).toBeGreaterThan(items.length)
  })

  it('reads a change once, however many follow it', { timeout: 60_000 }, async () => {
    const store = stores[0]!
    const followers = 40
    const stop = new AbortController()
    const counts = new Map<string, number>()
    const see = (trace: unknown) => {
      for (const name of (trace as StatementTrace).statements) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    const seen = Array.from({ length: followers }, () => 0)
    const rounds = 10
    const done = seen.map(async (_, i) => {
      for await (const event of store.follow(id, { signal: stop.signal })) {
        if (event.type === 'branch') seen[i]!++
        if (event.type === 'branches') started++
        if (seen[i] === rounds) return
      }
    })
    let started = 0
    while (started < followers) await new Promise(setImmediate)
    statementChannel.subscribe(see)
    let head: MessageId | null = null
    for (let n = 1; n <= rounds; n++) {
      head = (await writer.store.append({ conversationId: id, name: 'main' }, head, [say(`${n}`)])).head
      while (seen.some(count => count < n)) await new Promise(resolve => setTimeout(resolve, 5))
    }
    await Promise.all(done)
    statementChannel.unsubscribe(see)
    // One read for each change. A poll that ends during a read may cause one more.
    expect(counts.get('conversationById')).toBeLessThanOrEqual(2 * rounds)
    expect(counts.get('followStates')).toBeGreaterThan(0)
  })

  it('delivers own writes without waiting for a poll', { timeout: 60_000 }, async () => {
    const [own, branch] = [stores[0]!, { conversationId: id, name: 'main' }]
    const stop = new AbortController()
    const events = own.follow(id, { signal: stop.signal })[Symbol.asyncIterator]()
    await events.next()
    const timeOf = async (store: Store) => {
      const start = performance.now()
      for (let n = 0; n < 10; n++) {
        const { head } = await store.getBranch(branch)
        await store.append(branch, head, [say(`${n}`)])
        while ((await events.next()).value?.type !== 'branch');
      }
      return performance.now() - start
    }
    const [mine, others] = [await timeOf(own), await timeOf(writer.store)]
    stop.abort()
    expect(mine).toBeLessThan(others / 2)
  })

  it('does not poll without a follower', async () => {
    const store = stores[0]!
    await startCursor(store, id)
    let polls = 0
    const see = (trace: unknown) => {
      if ((trace as StatementTrace).statements.includes('followStates')) polls++
    }
    statementChannel.subscribe(see)
    await store.updateConversation(id, { title: 'x' })
    await new Promise(resolve => setTimeout(resolve, 600))
    statementChannel.unsubscribe(see)
    expect(polls).toBe(0)
  })

  it('finds activity of a process whose clock is 30 seconds behind', async () => {
    const stop = new AbortController()
    const late = await openStore(url, {
      indexing: 'manual',
      source: { now: () => Date.now() - 30_000, uuid: () => crypto.randomUUID() },
    })
    stores.push(late)
    const events = stores[0]!.followActivity({ signal: stop.signal })[Symbol.asyncIterator]()
    const first = events.next()
    // Until the iteration has begun.
    const { conversation } = await stores[1]!.create({ title: 'ahead' })
    let isSeen = false
    void first.then(() => {
      isSeen = true
    })
    for (let n = 0; !isSeen; n++) {
      await stores[1]!.updateConversation(conversation.id, { title: `ahead ${n}` })
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    await late.create({ title: 'behind' })
    let { value } = await events.next()
    while (value?.conversation.title !== 'behind') value = (await events.next()).value
    stop.abort()
    expect(value.conversation.title).toBe('behind')
  })
})

async function startCursor(store: Store, id: ConversationId): Promise<string> {
  for await (const event of store.follow(id)) return event.cursor
  throw new Error('no event')
}

function isMessage(event: FollowEvent, text: string): boolean {
  return event.type === 'message' && textOf(event.message) === text
}

function textsOf(events: readonly FollowEvent[]): string[] {
  return events.flatMap(event => (event.type === 'message' ? textOf(event.message) : []))
}

/** The pieces of drafts that were delivered twice. */
function repeatedPieces(events: readonly FollowEvent[]): string[] {
  const names = events.flatMap(event =>
    event.type === 'draft'
      ? event.pieces.map(({ n }) => `${event.turn.key} ${event.turn.lastStep} ${n}`)
      : [],
  )
  return names.filter((name, i) => names.indexOf(name) !== i)
}
