import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import type { Store } from '../../../src/core/ports.ts'
import { type Engine, run } from '../../../src/stores/engine/engine.ts'
import { askThread } from '../../../src/stores/sqlite/blocking-work-thread.ts'
import { pagesPerCheckpoint } from '../../../src/stores/sqlite/checkpoints.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { handleSettings } from '../../../src/stores/sqlite/handle-settings.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { systemSource } from '../../../src/system/source.ts'
import { say } from '../../../src/testing/contract/build.ts'

let folder: string
let file: string
let db: Database
let engine: Engine
let store: Store
let branch: BranchRef
let head: MessageId | null

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'checkpoints-'))
  file = join(folder, 'conversations.db')
  db = new BetterSqlite3(file, { timeout: 0 })
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = OFF')
  // Disables SQLite's own checkpoints.
  db.pragma('wal_autocheckpoint = 0')
  await migrateFile(db)
  // A clock that stands still, so that only checkpoints make the event loop turn.
  engine = sqliteEngine(db, { source: systemSource, owned: true, clock: () => 0 })
  store = storeOver(engine, async () => 1)
  branch = (await store.create()).branch
  head = null
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

const turn = () => new Promise(resolve => setImmediate(resolve))

/** Appends a message of about 50 pages. Each is different, or its text would be stored once. */
async function append(): Promise<void> {
  const text = `${head} ${'x'.repeat(200_000)}`
  head = (await store.append(branch, head, [say(text)])).head
}

/** Bulk work of about five pages for each number. */
function fill(from: number, count: number): Promise<void> {
  return engine.write(function* () {
    for (let n = from; n < from + count; n++)
      yield* run('putState', { name: `${n} ${'x'.repeat(20_000)}`, value: n })
  }, 'bulk')
}

function pagesInLog(): number {
  return (db.pragma('wal_checkpoint(NOOP)') as [{ log: number }])[0].log
}

describe('the write-ahead log', () => {
  it.each([
    ['after the appends have returned', turn],
    ['in a loop that does not let the event loop turn', () => undefined],
  ])('is copied into the file when it is long, %s', async (_, between) => {
    let longest = 0
    for (let i = 0; i < 300; i++) {
      await append()
      await between()
      longest = Math.max(longest, pagesInLog())
    }
    // About 15,000 pages were written. The log is looked at after every eighth append.
    expect(longest).toBeGreaterThan(pagesPerCheckpoint - 500)
    // A thread copies the log meanwhile; writers wait for it at twice the length.
    expect(longest).toBeLessThan(2 * pagesPerCheckpoint + 1_000)
  })

  it('is short again after a reader that delayed the checkpoint has ended', async () => {
    for (let i = 0; i < 40; i++) await append()
    const reader = new BetterSqlite3(file, { readonly: true })
    reader.exec('BEGIN; SELECT count(*) FROM skein_messages')
    for (let i = 0; i < 80; i++) await append()
    expect(pagesInLog()).toBeGreaterThan(pagesPerCheckpoint + 1_000)
    reader.close()
    for (let i = 0; i < 10; i++) await append()
    await turn()
    await append()
    expect(pagesInLog()).toBeLessThan(pagesPerCheckpoint)
  })

  it('stays bounded while processes write as fast as they can, and one of them is killed', async () => {
    const mine = await openSqliteStore(file, { durability: 'normal' })
    const writers = [0, 1, 2].map(() => spawn(process.execPath, ['--input-type=module', '-e', writing(file)]))
    writers[0]!.stdout.on('data', () => void writers[0]!.kill('SIGKILL'))
    const ends = await Promise.all(writers.map(one => once(one, 'exit')))
    expect(ends.map(([code]) => code)).toEqual([null, 0, 0])
    // About 150 MB were written. The file of the log never shrinks while the store is open.
    const { size } = statSync(`${file}-wal`)
    const lengths = (await mine.listConversations()).items.map(({ messages }) => messages)
    await mine.close()
    expect(size).toBeLessThan(100_000_000)
    expect(lengths.filter(length => length === 300)).toHaveLength(2)
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  }, 60_000)

  it('is copied by a thread after bulk work, which waits for it', async () => {
    let longest = 0
    for (let n = 0; n < 2_000; n += 100) {
      await fill(n, 100)
      longest = Math.max(longest, pagesInLog())
    }
    expect(longest).toBeLessThan(2_000)
    expect(statSync(file).size).toBeGreaterThan(20_000_000)
  })

  it('is copied and started again by the thread if the disk is slow', async () => {
    await store.close()
    db = new BetterSqlite3(file, { timeout: 0 })
    db.exec(handleSettings('FULL'))
    const asked: string[] = []
    const { pragma } = db
    db.pragma = (text, options) => {
      asked.push(text)
      return pragma.call(db, text, options)
    }
    let now = 0
    const syncAtOnce = (descriptor: number) => {
      now += 2
      fdatasyncSync(descriptor)
    }
    const logFile = {
      open: (path: string) => openSync(path, 'r+'),
      syncAtOnce,
      sync: async (descriptor: number) => syncAtOnce(descriptor),
      close: closeSync,
    }
    engine = sqliteEngine(db, { source: systemSource, owned: true, clock: () => now, logFile })
    store = storeOver(engine, async () => 1)
    let longest = 0
    let restarts = 0
    let before = 0
    for (let i = 0; i < 200; i++) {
      await append()
      const pages = pagesInLog()
      if (pages < before) restarts++
      longest = Math.max(longest, pages)
      before = pages
    }
    expect(longest).toBeLessThan(2 * pagesPerCheckpoint + 1_000)
    expect(restarts).toBeGreaterThan(0)
    expect(asked.filter(text => /wal_checkpoint\((PASSIVE|FULL)\)/.test(text))).toEqual([])
  })

  it('begins with one page after the thread has started it again, and otherwise when a writer does', async () => {
    await append()
    const before = pagesInLog()
    await askThread('copy', { file, isWhole: false }, { isIdle: false })
    expect(pagesInLog()).toBe(before)
    await askThread('copy', { file, isWhole: true }, { isIdle: false })
    expect(pagesInLog()).toBe(1)
    await append()
    expect(pagesInLog()).toBeGreaterThan(1)
  })

  it('is gone when the store is closed during a copy', async () => {
    // The thread is there after the first copy, so that it has opened the file soon after the second begins.
    await fill(0, 300)
    const last = fill(300, 1_000)
    for (let i = 0; i < 200; i++) await turn()
    await store.close()
    expect(existsSync(`${file}-wal`)).toBe(false)
    await last
  })
})

describe('a loop of awaited writes', () => {
  it('lets the event loop turn for a checkpoint', async () => {
    let hasTurned = false
    const appended = async () => {
      setImmediate(() => {
        hasTurned = true
      })
      // Fewer than the writes after which it turns anyway.
      for (let i = 0; i < 62 && !hasTurned; i++) await append()
      return hasTurned
    }
    await turn()
    expect(await appended()).toBe(true)
    expect(pagesInLog()).toBeLessThan(pagesPerCheckpoint + 1_000)
  })
})

/** A program that appends 300 messages of about 50 pages each. */
function writing(path: string): string {
  const from = new URL('../../../src/stores/sqlite/index.ts', import.meta.url)
  return `
    import { openSqliteStore } from ${JSON.stringify(from.href)}
    const store = await openSqliteStore(${JSON.stringify(path)}, { durability: 'normal' })
    const { branch } = await store.create()
    let head = null
    for (let i = 0; i < 300; i++)
      {
        head = (await store.append(branch, head, [{ role: 'user', content: process.pid + ' ' + i + 'x'.repeat(200_000) }])).head
        if (i === 100) console.log(i)
      }
    await store.close()
  `
}
