import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { OutcomeUnknownError } from '../../../src/core/errors.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import { appendQueue } from '../../../src/stores/postgres/append-queue.ts'
import type { BatchResult } from '../../../src/stores/postgres/batch.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { type BoundStatement, bind, prepare } from '../../../src/stores/postgres/prepared.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { countTrips, freshDatabase, openPool } from './database.ts'

/** A server that answers when the test says so. */
function slowServer() {
  const requests: { labels: string[]; succeed(): void; fail(error: unknown): void }[] = []
  const send = (statements: readonly BoundStatement[]) =>
    new Promise<readonly BatchResult[]>((resolve, reject) => {
      const labels = statements.map(({ statement }) => statement.label)
      const results = labels.map(label => ({ rows: [{ label }], changes: 1, command: 'SELECT' }))
      requests.push({ labels, succeed: () => resolve(results), fail: reject })
    })
  const append = appendQueue(send)
  const statement = (label: string) => bind(prepare('SELECT 1', label), {})
  return {
    requests,
    /** Returns the labels of the statements whose results the append got. */
    append: async (conversation: string, labels: readonly string[] = [conversation]) =>
      (await append(conversation, labels.map(statement))).map(({ rows }) => rows[0]!.label),
    large: (conversation: string) => {
      const { statement: text } = statement(conversation)
      return append(conversation, [{ statement: text, values: ['x'.repeat(200_000)] }])
    },
  }
}

const busy = ['z1', 'z2', 'z3', 'z4', 'z5', 'z6']

describe('the queue of appends', () => {
  it('sends each append at once while few are under way, and those that wait together', async () => {
    const { requests, append } = slowServer()
    const first = busy.map(name => append(name))
    const rest = [append('c'), append('a', ['a1', 'a2']), append('b')]
    expect(requests.map(({ labels }) => labels)).toEqual(busy.map(name => [name]))
    requests[0]!.succeed()
    expect(await first[0]).toEqual(['z1'])
    await pause(0)
    // In the order of the conversations, so that requests do not lock in a circle.
    expect(requests[6]!.labels).toEqual(['limitLocks', 'a1', 'a2', 'b', 'c'])
    requests[6]!.succeed()
    expect(await Promise.all(rest)).toEqual([['c'], ['a1', 'a2'], ['b']])
    for (const request of requests) request.succeed()
    await Promise.all(first)
    // Nothing waits any more.
    void append('d')
    expect(requests.at(-1)!.labels).toEqual(['d'])
  })

  it('sends at most eight appends together, and fewer if they are large', async () => {
    const { requests, append, large } = slowServer()
    for (const name of busy) void append(name)
    for (let i = 0; i < 9; i++) void append(`small ${i}`)
    for (let i = 0; i < 2; i++) void large(`large ${i}`)
    for (let i = 0; i < 4; i++) {
      requests[i]!.succeed()
      await pause(0)
    }
    expect(requests.slice(6).map(({ labels }) => labels.length)).toEqual([9, 3, 1])
  })

  it('sends the appends of a failed request one by one', async () => {
    const { requests, append } = slowServer()
    for (const name of busy) void append(name)
    const rest = [append('a'), append('b'), append('c')]
    requests[0]!.succeed()
    await pause(0)
    requests[6]!.fail(new Error('a statement failed'))
    await pause(0)
    expect(requests.slice(7).map(({ labels }) => labels)).toEqual([['a'], ['b'], ['c']])
    requests[7]!.succeed()
    requests[8]!.fail(new Error('this one'))
    requests[9]!.succeed()
    expect(await Promise.allSettled(rest)).toMatchObject([
      { value: ['a'] },
      { reason: { message: 'this one' } },
      { value: ['c'] },
    ])
  })

  it('reports an unknown outcome to each append of the request, and repeats none', async () => {
    const { requests, append } = slowServer()
    for (const name of busy) void append(name)
    const rest = [append('a'), append('b')]
    requests[0]!.succeed()
    await pause(0)
    requests[6]!.fail(new OutcomeUnknownError('the connection broke', {}))
    for (const one of rest) await expect(one).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(requests).toHaveLength(7)
  })

  it('does not wait for requests that take long', async () => {
    const { requests, append } = slowServer()
    for (const name of busy) void append(name)
    const rest = [append('a'), append('b')]
    while (requests.length < 7) await pause(5)
    requests[6]!.succeed()
    expect(await Promise.all(rest)).toEqual([['a'], ['b']])
  })
})

describe('many appends at once', () => {
  async function open() {
    const pool = openPool(await freshDatabase(), { max: 10 })
    const store = await postgresStore(pool, { indexing: 'manual' })
    return { pool, store, trips: countTrips(pool) }
  }

  it('take fewer round trips than appends, and each has its own outcome', async () => {
    const { store, trips } = await open()
    const branches = await Promise.all(Array.from({ length: 40 }, async () => (await store.create()).branch))
    const heads: (MessageId | null)[] = branches.map(() => null)
    const before = trips()
    for (let turn = 0; turn < 5; turn++) {
      const outcomes = await Promise.allSettled(
        branches.map(async (branch, i) => {
          const isStale = i === 30 && turn === 3
          const options = i % 2 === 0 ? {} : { turn: { key: `turn ${turn}`, step: i % 4 === 1 ? 0 : 1 } }
          const head = isStale ? null : heads[i]!
          heads[i] = (await store.append(branch, head, [say(`${i} ${turn}`)], options)).head
        }),
      )
      const failed = outcomes.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))
      expect(failed).toEqual(turn === 3 ? [30] : [])
    }
    expect(trips() - before).toBeLessThan(150)
    for (const [i, branch] of branches.entries()) {
      const { items } = await store.listMessages({
        conversationId: branch.conversationId,
        order: 'ascending',
      })
      const turns = [0, 1, 2, 3, 4].filter(turn => i !== 30 || turn !== 3)
      expect(items.map(({ content }) => (content[0] as { text: string }).text)).toEqual(
        turns.map(turn => `${i} ${turn}`),
      )
      expect(items.map(({ seq }) => seq)).toEqual(turns.map((_, seq) => seq))
    }
  })

  it('do not wait for a conversation that another transaction locks', async () => {
    const { pool, store } = await open()
    const branches = await Promise.all(Array.from({ length: 40 }, async () => (await store.create()).branch))
    const client = await pool.connect()
    await client.query('BEGIN')
    await client.query('SELECT FROM skein.conversations WHERE id = $1 FOR UPDATE', [
      branches[20]!.conversationId,
    ])
    const stored = new Set<number>()
    const all = branches.map(async (branch, i) => {
      await store.append(branch, null, [say('Hello')])
      stored.add(i)
    })
    await Promise.all(all.filter((_, i) => i !== 20))
    expect(stored.has(20)).toBe(false)
    await client.query('COMMIT')
    client.release()
    await Promise.all(all)
    expect(stored.size).toBe(40)
  })
})
