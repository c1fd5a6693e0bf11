import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { Store } from '../../../src/core/ports.ts'
import { type Program, run } from '../../../src/stores/engine/engine.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { type StatementTrace, statementChannel } from '../../../src/system/debug.ts'
import { systemSource } from '../../../src/system/source.ts'
import { say } from '../../../src/testing/contract/build.ts'

let folder: string
let db: Database
let other: Database
let time: number
/** Milliseconds that pass between two looks at the clock. */
let pace: number

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'group-'))
  const file = join(folder, 'conversations.db')
  db = new BetterSqlite3(file, { timeout: 0 })
  db.pragma('journal_mode = WAL')
  db.pragma('wal_autocheckpoint = 0')
  await migrateFile(db)
  other = new BetterSqlite3(file, { timeout: 0 })
  time = 0
  pace = 0
})
afterEach(() => {
  db.close()
  other.close()
  rmSync(folder, { recursive: true, force: true })
})

function makeEngine() {
  const clock = () => {
    time += pace
    return time
  }
  return sqliteEngine(db, { source: systemSource, owned: true, clock })
}

async function makeStore(conversations: number): Promise<{ store: Store; branches: readonly BranchRef[] }> {
  const store = storeOver(makeEngine(), async () => 1)
  const branches: BranchRef[] = []
  for (let i = 0; i < conversations; i++) branches.push((await store.create()).branch)
  await turn()
  return { store, branches }
}

/** Lets the event loop turn. */
const turn = () => new Promise(resolve => setImmediate(resolve))

/** The events of the transactions from here on, in order. */
function watchTransactions(): string[] {
  const seen: string[] = []
  const note = (trace: unknown) => {
    const [name] = (trace as StatementTrace).statements
    if (name === 'COMMIT') seen.push('commit')
  }
  statementChannel.subscribe(note)
  onTestFinished(() => void statementChannel.unsubscribe(note))
  return seen
}

/** Appends to all branches at once, and notes each answer. */
function appendToAll(store: Store, branches: readonly BranchRef[], events: string[] = []) {
  return Promise.all(
    branches.map(async (branch, i) => {
      const appended = await store.append(branch, null, [say(`message ${i}`)])
      events.push(`answer ${i}`)
      return appended
    }),
  )
}

/** What another process would see. */
const stored = () => other.prepare('SELECT count(*) FROM skein_messages').pluck().get() as number

describe('writes of one tick', () => {
  it('share a transaction, except the first, which is answered before', async () => {
    const { store, branches } = await makeStore(10)
    const events = watchTransactions()
    await appendToAll(store, branches, events)
    const answers = Array.from({ length: 9 }, (_, i) => `answer ${i + 1}`)
    expect(events).toEqual(['commit', 'answer 0', 'commit', ...answers])
    expect(stored()).toBe(10)
  })

  it('share a transaction if each comes from a callback of its own, such as the requests of a server', async () => {
    const { store, branches } = await makeStore(10)
    const events = watchTransactions()
    const appended = branches.map(async (branch, i) => {
      await turn()
      await store.append(branch, null, [say(`message ${i}`)])
      events.push(`answer ${i}`)
    })
    await Promise.all(appended)
    const answers = Array.from({ length: 9 }, (_, i) => `answer ${i + 1}`)
    expect(events).toEqual(['commit', 'answer 0', 'commit', ...answers])
    expect(stored()).toBe(10)
  })

  it('do not wait for the event loop if each follows the answer of the one before', async () => {
    const { store, branches } = await makeStore(10)
    const events = watchTransactions()
    setImmediate(() => events.push('turn'))
    for (const branch of branches) await store.append(branch, null, [say('next')])
    await turn()
    expect(events).toEqual([...branches.map(() => 'commit'), 'turn'])
  })

  it('are at most 64, and the event loop turns before the next', async () => {
    const { store, branches } = await makeStore(100)
    const events = watchTransactions()
    const all = appendToAll(store, branches)
    setImmediate(() => events.push('turn'))
    await all
    expect(events).toEqual(['commit', 'commit', 'turn', 'commit'])
    expect(stored()).toBe(100)
  })

  it('take about 20 ms at most before the event loop turns', async () => {
    const { store, branches } = await makeStore(6)
    // Each write looks at the clock once or twice.
    pace = 7
    const events = watchTransactions()
    setImmediate(() => events.push('turn'))
    await appendToAll(store, branches)
    expect(events.filter(event => event === 'turn')).toHaveLength(1)
    expect(events.at(-1)).toBe('commit')
    expect(stored()).toBe(6)
  })

  it('have their own answers: a refused write leaves nothing, and the others are stored', async () => {
    const { store, branches } = await makeStore(4)
    const [one, two, three, four] = branches as [BranchRef, BranchRef, BranchRef, BranchRef]
    const events = watchTransactions()
    const results = await Promise.allSettled([
      store.append(one, null, [say('1')]),
      store.append(two, null, [say('2')]),
      store.append(two, null, [say('too late')]),
      store.append({ ...three, name: 'missing' }, null, [say('nowhere')]),
      store.append(four, null, [say('4')]),
    ])
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(results[2]).toMatchObject({ reason: { code: 'conflict' } })
    expect(results[3]).toMatchObject({ reason: { code: 'not_found' } })
    expect(events).toEqual(['commit', 'commit'])
    expect(stored()).toBe(3)
  })

  it('undo a write that fails after it has written', async () => {
    const engine = makeEngine()
    const fault = new Error('of the program')
    const fail = function* (): Program<void> {
      yield* put('half')
      throw fault
    }
    const writes = [() => put('a'), () => put('b'), fail, () => put('c')]
    const results = await Promise.allSettled(writes.map(program => engine.write<unknown>(program)))
    expect(results.map(one => (one.status === 'fulfilled' ? one.value : one.reason))).toEqual([
      'a',
      'b',
      fault,
      'c',
    ])
    expect(names()).toEqual(['a', 'b', 'c'])
  })

  it('all get the typed error if the commit fails, and nothing of them is stored', async () => {
    const engine = makeEngine()
    // A foreign key that is checked by the commit.
    const orphan = function* (): Program<void> {
      db.pragma('defer_foreign_keys = ON')
      yield* run('insertEvent', { conv: 99, n: 0, type: 'plan', at: 0, data: '{}' })
    }
    const writes = [() => put('a'), () => put('b'), orphan, () => put('c')]
    const results = await Promise.allSettled(writes.map(program => engine.write<unknown>(program)))
    expect(results[0]).toEqual({ status: 'fulfilled', value: 'a' })
    for (const result of results.slice(1)) expect(result).toMatchObject({ reason: { code: 'corrupt' } })
    expect(names()).toEqual(['a'])
    expect(db.inTransaction).toBe(false)
    await Promise.all([engine.write(() => put('b')), engine.write(() => put('c'))])
    expect(names()).toEqual(['a', 'b', 'c'])
  })

  it('are written one by one if a failure of the disk rolls back their transaction', async () => {
    const { store, branches } = await makeStore(5)
    db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true })) + 8}`)
    const sizes = [1, 1, 200_000, 1, 1]
    const results = await Promise.allSettled(
      branches.map((branch, i) => store.append(branch, null, [say('x'.repeat(sizes[i]!))])),
    )
    expect(results.map(one => (one.status === 'fulfilled' ? 'stored' : one.reason.code))).toEqual([
      'stored',
      'stored',
      'storage_full',
      'stored',
      'stored',
    ])
    expect(stored()).toBe(4)
  })

  it('wait together for another process', async () => {
    const { store, branches } = await makeStore(70)
    other.exec('BEGIN IMMEDIATE')
    const appended = appendToAll(store, branches)
    setTimeout(() => other.exec('COMMIT'), 20)
    await appended
    expect(stored()).toBe(70)
  })

  it('are stored before the store closes, and later ones are refused', async () => {
    const { store, branches } = await makeStore(70)
    const appended = appendToAll(store, branches)
    const closed = store.close()
    await expect(store.create()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/closed/),
    })
    await closed
    expect(db.open).toBe(false)
    expect(stored()).toBe(70)
    await appended
  })

  it('are not waited for by close() if they are of the search index and another process has the lock', async () => {
    const engine = makeEngine()
    other.exec('BEGIN IMMEDIATE')
    const indexed = engine.write(() => put('a'), 'bulk')
    const refused = expect(indexed).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/closed/),
    })
    await turn()
    await engine.close()
    await refused
    expect([db.open, other.inTransaction]).toEqual([false, true])
  })

  it('are stored before the store closes if they came after one of the search index', async () => {
    const engine = makeEngine()
    other.exec('BEGIN IMMEDIATE')
    const writes = [engine.write(() => put('a'), 'bulk'), engine.write(() => put('b'))]
    const settled = Promise.allSettled(writes)
    await turn()
    const closed = engine.close()
    other.exec('COMMIT')
    await closed
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    db = new BetterSqlite3(db.name, { timeout: 0 })
    expect(names()).toEqual(['b'])
  })
})

function* put(name: string): Program<string> {
  yield* run('putState', { name, value: 1 })
  return name
}

function names(): unknown[] {
  return db.prepare(`SELECT name FROM skein_state WHERE name IN ('a', 'b', 'c', 'half')`).pluck().all()
}
