import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../src/core/ports.ts'
import { sqliteEngine } from '../../src/stores/sqlite/engine.ts'
import { openSqliteStore, sqliteStore } from '../../src/stores/sqlite/index.ts'
import { type BackgroundIndex, indexInBackground } from '../../src/stores/store/background-index.ts'
// Loaded before the first batch, which would have to wait for the file.
import '../../src/stores/store/index-search.ts'
import { statementChannel } from '../../src/system/debug.ts'
import { appendTexts } from '../../src/testing/contract/build.ts'

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'background-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'conversations.db')
}

const clock = { now: Date.UTC(2026, 0, 1) }
const source = { now: () => clock.now, uuid: () => crypto.randomUUID() }

/** A process that has the file open, with timers that the test fires. */
async function processOn(file: string) {
  const db = new BetterSqlite3(file, { timeout: 0 })
  db.pragma('journal_mode = WAL')
  const store = await sqliteStore(db, { source, indexing: 'manual' })
  onTestFinished(() => void db.close())
  const timers: { ms: number; run: () => void }[] = []
  const engine = sqliteEngine(db, { source, owned: false })
  const index: BackgroundIndex = indexInBackground(engine, (ms, run) => {
    const timer = { ms, run }
    timers.push(timer)
    return () => void timers.splice(timers.indexOf(timer), 1)
  })
  /** Fires the timer and waits until the batch has ended. Returns the delay that the timer had. */
  async function fire(): Promise<number> {
    expect(timers).toHaveLength(1)
    const [{ ms, run }] = timers.splice(0) as [(typeof timers)[0]]
    run()
    // A batch of SQLite has no I/O to wait for, only promises and turns of the event loop. At its end it sets
    // the next timer, unless everything is done.
    for (let turns = 0; turns < 100 && timers.length === 0; turns++)
      await new Promise(resolve => setImmediate(resolve))
    return ms
  }
  return { db, store, index, timers, fire }
}

/** The number of messages that the background has left. */
const unindexed = (store: Store): Promise<number> => store.indexSearch()

describe('the background index (13.1)', () => {
  it('waits until no write has come for a while, and then indexes batch by batch', async () => {
    const { store, index, timers, fire } = await processOn(newFile())
    const { branch } = await store.create()
    await appendTexts(store, branch, ...Array.from({ length: 100 }, (_, i) => `heron ${i}`))
    index.wake()
    index.wake()
    expect(timers).toHaveLength(1)
    // The calls since the last look mean that the process is busy.
    expect(await fire()).toBe(50)
    expect(timers).toHaveLength(1)
    let batches = 0
    for (; timers.length > 0; batches++) await fire()
    expect(batches).toBeGreaterThan(1)
    expect(await unindexed(store)).toBe(0)
  })

  it('begins with a small batch, and makes each at most twice as large as the one before', async () => {
    const { db, store, index, timers, fire } = await processOn(newFile())
    const { branch } = await store.create()
    await appendTexts(store, branch, ...Array.from({ length: 500 }, (_, i) => `heron ${i}`))
    const countIndexed = db.prepare('SELECT count(*) FROM skein_search_map').pluck()
    const sizes: number[] = []
    index.wake()
    for (let before = 0; timers.length > 0; ) {
      await fire()
      const now = countIndexed.get() as number
      if (now > before) sizes.push(now - before)
      before = now
    }
    expect(sizes[0]).toBe(8)
    for (const [i, size] of sizes.entries()) expect(size).toBeLessThanOrEqual(2 * (sizes[i - 1] ?? 4))
    expect(sizes.reduce((sum, size) => sum + size)).toBe(500)
  })

  it('indexes a batch now and then in a process that is never idle', async () => {
    const { store, index, fire } = await processOn(newFile())
    const { branch } = await store.create()
    await appendTexts(store, branch, 'heron one')
    for (let i = 0; i < 20; i++) {
      index.wake()
      await fire()
    }
    expect(await unindexed(store)).toBe(0)
  })

  it('rests after it has indexed everything, so that a slow writer has few transactions of the index', async () => {
    const { store, index, timers, fire } = await processOn(newFile())
    const { branch } = await store.create()
    const { head } = await appendTexts(store, branch, 'heron one')
    index.wake()
    await fire()
    await fire()
    expect(timers.map(({ ms }) => ms)).toEqual([1_000])
    await store.append(branch, head, [{ role: 'user', content: 'heron two' }])
    index.wake()
    expect(timers).toHaveLength(1)
    // The end of the rest, then the wait until no write has come for a while.
    expect([await fire(), await fire()]).toEqual([1_000, 50])
    expect(await unindexed(store)).toBe(0)
    // Without a write, nothing waits.
    await fire()
    expect(timers).toEqual([])
  })

  it('leaves the index to another process that writes it, until its lease ends', async () => {
    const file = newFile()
    const one = await processOn(file)
    const two = await processOn(file)
    const { branch } = await one.store.create()
    const { head } = await appendTexts(one.store, branch, 'heron one')
    for (const { index, fire } of [one, two]) {
      index.wake()
      await fire()
    }
    await one.fire()
    await one.store.append(branch, head, [{ role: 'user', content: 'heron two' }])
    await two.fire()
    expect(two.timers.map(({ ms }) => ms)).toEqual([2_000])
    clock.now += 2_001
    await two.fire()
    expect(await unindexed(one.store)).toBe(0)
  })

  it('does nothing inside a transaction of the handle, and after it was closed', async () => {
    const { db, store, index, timers, fire } = await processOn(newFile())
    const { branch } = await store.create()
    await appendTexts(store, branch, 'heron one')
    index.wake()
    await fire()
    db.exec('BEGIN')
    await fire()
    db.exec('ROLLBACK')
    expect(timers).toHaveLength(1)
    index.close()
    expect(timers).toEqual([])
    index.wake()
    expect(timers).toEqual([])
    expect(await unindexed(store)).toBe(1)
  })

  it('tries again with the next write after a failure', async () => {
    const { db, store, index, timers, fire } = await processOn(newFile())
    const { branch } = await store.create()
    await appendTexts(store, branch, 'heron one')
    db.exec('CREATE TRIGGER full BEFORE INSERT ON skein_search_map BEGIN SELECT RAISE(ABORT, 1); END')
    index.wake()
    await fire()
    await fire()
    await fire()
    expect(timers).toEqual([])
    db.exec('DROP TRIGGER full')
    index.wake()
    await fire()
    await fire()
    expect(await unindexed(store)).toBe(0)
  })

  it('runs by default, and does not make close() wait for the rest of the index', async () => {
    const file = newFile()
    const store = await openSqliteStore(file)
    const { branch } = await store.create()
    const indexed = new Promise<void>(resolve => {
      const listen = (message: unknown) => {
        if ((message as { statements: string[] }).statements.includes('putSearchEntry')) resolve()
      }
      statementChannel.subscribe(listen)
      onTestFinished(() => void statementChannel.unsubscribe(listen))
    })
    await appendTexts(store, branch, ...Array.from({ length: 400 }, (_, i) => `heron ${i}`))
    await indexed
    await store.close()
    await using again = await openSqliteStore(file, { indexing: 'manual' })
    expect((await again.search('heron', { limit: 200 })).items).toHaveLength(200)
    // The first batch has a few messages, and the timer of the second one has not run.
    expect(await unindexed(again)).toBeGreaterThan(300)
  })
})
