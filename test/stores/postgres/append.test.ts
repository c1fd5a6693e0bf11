import fc from 'fast-check'
import type { Pool } from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import type { NewMessage, NonEmpty } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { AppendOptions, Store } from '../../../src/core/ports.ts'
import type { Source } from '../../../src/core/source.ts'
import { postgresEngine } from '../../../src/stores/postgres/engine.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { countTrips, freshDatabase, openPool } from './database.ts'

const url = await freshDatabase()
const holder = { host: 'here', boot: 'b', pid: 1, startedAt: 0 }
const say = (blocks: string): NonEmpty<NewMessage> => [{ role: 'user', content: blocks }]

describe('an ordinary append', () => {
  const pool = openPool(url, { max: 1 })
  const trips = countTrips(pool)
  let store: Store
  let branch: BranchRef
  beforeEach(async () => {
    store = await postgresStore(pool, { tenant: 'trips', indexing: 'manual' })
    branch = (await store.create()).branch
  })

  async function appends(
    head: MessageId | null,
    options: AppendOptions,
    expected: number,
  ): Promise<MessageId> {
    const before = trips()
    const appended = await store.append(branch, head, say('Hello'), options)
    expect(trips() - before).toBe(expected)
    expect(appended.outcome).toBe('appended')
    return appended.head
  }

  it('takes one round trip, with and without a turn', async () => {
    let head = await appends(null, {}, 1)
    head = await appends(head, { turn: { key: 'at once', step: 0, usage: { input: 3 } } }, 1)
    head = await appends(head, { turn: { key: 'counted from one', step: 1 } }, 1)
    head = await appends(head, { turn: { key: 'long', step: 0, status: 'open', holder } }, 1)
    head = await appends(
      head,
      { turn: { key: 'long', step: 1, status: 'open', holder, usage: { output: 1 } } },
      1,
    )
    await appends(head, { turn: { key: 'long', step: 2, holder, usage: { output: 2, cost: 0.5 } } }, 1)
    const turns = await collectPages(page => store.listTurns(branch.conversationId, page))
    expect(turns.map(({ key, usage, status }) => [key, usage, status])).toEqual([
      ['at once', { input: 3 }, 'complete'],
      ['counted from one', {}, 'complete'],
      ['long', { output: 3, cost: 0.5 }, 'complete'],
    ])
  })

  it('falls back to the shared program for everything unusual', async () => {
    const head = await appends(null, {}, 1)
    const before = trips()
    await expect(store.append(branch, null, say('Late'))).rejects.toMatchObject({
      code: 'conflict',
      actual: head,
    })
    expect(trips() - before).toBeGreaterThan(1)
    await store.append(branch, head, say('x'.repeat(20_000)))
    expect((await store.listMessages({ conversationId: branch.conversationId })).items).toHaveLength(2)
  })
})

/** A sequence of appends, in a form that can be compared between two stores. */
type Step = {
  readonly texts: readonly string[]
  readonly on: 'main' | 'side'
  readonly head: 'right' | 'empty' | 'old'
  readonly turn: null | {
    key: string
    step: number
    open: boolean
    mine: boolean
    input?: number
    cost?: number
  }
  readonly sibling: boolean
  readonly later: number
}

const steps = fc.array(
  fc.record({
    texts: fc.array(fc.constantFrom('a', 'b', 'a "quoted" \\ text', '\u0000', 'é🦊'), {
      minLength: 1,
      maxLength: 3,
    }),
    on: fc.constantFrom('main' as const, 'side' as const),
    head: fc.constantFrom(
      'right' as const,
      'right' as const,
      'right' as const,
      'empty' as const,
      'old' as const,
    ),
    turn: fc.option(
      fc.record(
        {
          key: fc.constantFrom('t', 'u'),
          step: fc.integer({ min: 0, max: 3 }),
          open: fc.boolean(),
          mine: fc.boolean(),
          input: fc.integer({ min: 0, max: 9 }),
          cost: fc.double({ min: 0, max: 1, noNaN: true }),
        },
        { requiredKeys: ['key', 'step', 'open', 'mine'] },
      ),
    ),
    sibling: fc.boolean(),
    later: fc.constantFrom(0, 1, 40_000),
  }),
  { minLength: 1, maxLength: 12 },
) as fc.Arbitrary<Step[]>

let worlds = 0

/** Runs the steps on a new store and returns the results and the contents of the tables. */
async function told(kind: 'quick' | 'whole', sequence: readonly Step[]): Promise<unknown> {
  const pool = openPool(url, { max: 2 })
  let now = Date.UTC(2026, 0, 1)
  let ids = 0
  const uuid = () => `00000000-0000-4000-8000-${(++ids).toString().padStart(12, '0')}`
  const source: Source = { now: () => now, uuid }
  const tenant = `${kind} ${++worlds}`
  const quick = await postgresStore(pool, { tenant, source, indexing: 'manual' })
  const whole = storeOver(
    postgresEngine(pool, { tenant, naming: 'named', source, close: async () => {} }),
    async () => 0,
  )
  const store = kind === 'quick' ? quick : whole
  const { conversation } = await store.create({ ttlMs: 50_000 })
  const { id } = conversation
  await store.createBranch(id, null, { name: 'side' })
  const answers: unknown[] = []
  let old: MessageId | null = null
  for (const step of sequence) {
    now += step.later
    const { head } = await store.getBranch({ conversationId: id, name: step.on })
    const expected = step.head === 'right' ? head : step.head === 'empty' ? null : old
    old = head
    const messages = step.texts.map(
      (blocks, i) => ({ role: i === 0 ? 'user' : 'assistant', content: blocks }) as const,
    )
    const { turn, sibling } = step
    const usage = {
      ...(turn?.input !== undefined && { input: turn.input }),
      ...(turn?.cost !== undefined && { cost: turn.cost }),
    }
    const owner = turn?.mine ? holder : { ...holder, pid: 2 }
    const options: AppendOptions = {
      ...(turn && {
        turn: {
          key: turn.key,
          step: turn.step,
          status: turn.open ? 'open' : 'complete',
          holder: owner,
          usage,
        },
      }),
      ...(sibling && { onConflict: 'fork' }),
    }
    const answer = store.append({ conversationId: id, name: step.on }, expected, messages as never, options)
    answers.push(await answer.catch((error: Error & { code?: string }) => [error.code, error.message]))
  }
  const turns = await collectPages(page => store.listTurns(id, page))
  const tables: unknown[] = []
  for (const table of ['conversations', 'branches', 'messages']) {
    const sql = `select to_jsonb(t) - 'tenant' as row from skein.${table} t where tenant = $1 order by 1`
    tables.push((await pool.query(sql, [tenant])).rows)
  }
  await pool.end()
  return { answers, turns, tables }
}

it('stores and returns the same as the shared program', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async sequence => {
      expect(await told('quick', sequence)).toEqual(await told('whole', sequence))
    }),
    { numRuns: 40 },
  )
})

describe('an append that waits for another writer', () => {
  const changes = {
    'the turn has ended': [`update skein.turns set status = 'interrupted'`, 'expired'],
    'the turn is held by another': [`update skein.turns set holder = '["there","b",2,0]'`, 'expired'],
    'the head has moved': [`update skein.branches set head_seq = -1, head_id = null`, 'conflict'],
    'the branch is gone': [`delete from skein.branches`, 'not_found'],
    'the conversation is in the trash': [`update skein.conversations set trashed_at = 1`, 'not_found'],
    'the conversation is gone': [`delete from skein.conversations`, 'not_found'],
  } as const

  it.each(Object.entries(changes))('detects that %s', async (change, [sql, code]) => {
    const pool = openPool(url)
    const store = await postgresStore(pool, { tenant: change })
    const { branch } = await store.create()
    const turn = { key: 't', status: 'open', holder } as const
    const { head } = await store.append(branch, null, say('ask'), { turn: { ...turn, step: 0 } })
    const other = await pool.connect()
    await other.query('begin')
    await other.query('select from skein.conversations where tenant = $1 for update', [change])
    const append = store.append(branch, head, say('answer'), { turn: { ...turn, step: 1 } })
    const refused = expect(append).rejects.toMatchObject({ code })
    await expect.poll(() => waiting(pool)).toBeGreaterThan(0)
    await other.query(`${sql} where tenant = $1`, [change])
    await other.query('commit')
    other.release()
    await refused
    const left = await pool.query('select body from skein.messages where tenant = $1', [change])
    expect(left.rowCount).toBe(1)
  })
})

async function waiting(pool: Pool): Promise<number> {
  const sql = `select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  return (await pool.query(sql)).rows[0].n
}

describe('many writers', () => {
  it('lose nothing and leave no gap on one branch and on several, with turns opening and ending', async () => {
    const stores = await Promise.all(
      [1, 2, 3, 4].map(() => postgresStore(openPool(url, { max: 4 }), { tenant: 'race' })),
    )
    const { conversation, branch } = await stores[0]!.create()
    const { id } = conversation
    const work = stores.flatMap((store, i) => [shared(store, i), own(store, i), turns(store, i)])
    const written = (await Promise.all(work)).reduce((a, b) => a + b)
    const page = await stores[0]!.listMessages({ conversationId: id, order: 'ascending', limit: 10_000 })
    expect(page.items.map(message => message.seq)).toEqual(page.items.map((_, seq) => seq))
    expect(page.items).toHaveLength(written)
    const { head } = await stores[0]!.getBranch(branch)
    expect(await pathOf(stores[0]!, head!)).toHaveLength(4 * 15)

    async function shared(store: Store, i: number): Promise<number> {
      for (let n = 0; n < 15; ) {
        const { head } = await store.getBranch(branch)
        const done = store.append(branch, head, say(`${i} ${n}`), { turn: { key: `s${i} ${n}`, step: 0 } })
        if (await done.then(() => true, refused)) n++
      }
      return 15
    }

    async function own(store: Store, i: number): Promise<number> {
      const { name } = await store.createBranch(id, null, { name: `own ${i}` })
      let head: MessageId | null = null
      for (let n = 0; n < 30; n++)
        head = (await store.append({ conversationId: id, name }, head, say(`${i}`))).head
      return 30
    }

    async function turns(store: Store, i: number): Promise<number> {
      const ref = await store.createBranch(id, null, { name: `turns ${i}` })
      let head: MessageId | null = null
      for (let n = 0; n < 8; n++) {
        const turn = { key: `t${i} ${n}`, status: 'open', holder } as const
        head = (await store.append(ref, head, say('ask'), { turn: { ...turn, step: 0 } })).head
        await store.putDraft(id, turn.key, holder, [{ n: 0, type: 'text', text: 'ans' }])
        head = (await store.append(ref, head, say('answer'), { turn: { ...turn, step: 1 } })).head
        await store.endTurn(id, turn.key, { status: 'complete', heldBy: holder })
      }
      return 16
    }
  })
})

function refused(error: { code?: string }): boolean {
  if (error.code !== 'conflict') throw error
  return false
}

describe('a large append', () => {
  const large = say('word '.repeat(400_000))

  it('is stored before the store is closed, and none after', async () => {
    const store = await openPostgresStore(url, { tenant: 'closed', indexing: 'manual' })
    const { branch } = await store.create()
    const appending = store.append(branch, null, large)
    const closing = store.close()
    await expect(store.append(branch, null, large)).rejects.toMatchObject({ code: 'unavailable' })
    const { head } = await appending
    await closing
    await using again = await openPostgresStore(url, { tenant: 'closed', indexing: 'manual' })
    expect((await again.getBranch(branch)).head).toBe(head)
  })

  it('is part of a transaction of the application', async () => {
    const pool = openPool(url, { max: 2 })
    const store = await postgresStore(pool, { tenant: 'within', indexing: 'manual' })
    const { branch } = await store.create()
    const client = await pool.connect()
    for (const end of ['ROLLBACK', 'COMMIT']) {
      await client.query('BEGIN')
      const { head, committed } = await store.within(client).append(branch, null, large)
      expect(committed).toBe(false)
      await client.query(end)
      expect((await store.getBranch(branch)).head).toBe(end === 'COMMIT' ? head : null)
    }
    client.release()
  })
})
