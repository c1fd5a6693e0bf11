import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import { OutcomeUnknownError } from '../../../src/core/errors.ts'
import type { Store } from '../../../src/core/ports.ts'
import { type Program, run } from '../../../src/stores/engine/engine.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { handleSettings } from '../../../src/stores/sqlite/handle-settings.ts'
import { type LogFile, logSync } from '../../../src/stores/sqlite/log-sync.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { rewriteLog } from '../../../src/stores/sqlite/rewrite-log.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { type StatementTrace, statementChannel } from '../../../src/system/debug.ts'
import { systemSource } from '../../../src/system/source.ts'
import { say } from '../../../src/testing/contract/build.ts'

let folder: string
let file: string
const opened: { close(): unknown }[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'log-sync-'))
  file = join(folder, 'conversations.db')
})
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A real log whose syncs are noted, and can be delayed or fail. */
class WatchedLog implements LogFile {
  readonly events: string[] = []
  /** Milliseconds. Stands still unless a test advances it. */
  time = 0
  /** Whether each sync takes so long that the next one is not made at once. */
  isSlow = false
  /** Called before a sync, which fails if it throws. */
  before: () => void = () => undefined
  /** While it is set, syncs in the thread pool wait for it. */
  gate: Promise<void> | null = null

  open(path: string): number {
    this.events.push('open')
    return openSync(path, 'r+')
  }

  syncAtOnce(descriptor: number): void {
    this.before()
    if (this.isSlow) this.time += 2
    fdatasyncSync(descriptor)
    this.events.push('sync')
  }

  async sync(descriptor: number): Promise<void> {
    this.events.push('begin')
    this.before()
    if (this.isSlow) this.time += 2
    await this.gate
    fdatasyncSync(descriptor)
    this.events.push('end')
  }

  close(descriptor: number): void {
    this.events.push('close')
    closeSync(descriptor)
  }

  failNext(): void {
    this.before = () => {
      this.before = () => undefined
      failing()
    }
  }

  /** The events since the last call. */
  take(): readonly string[] {
    return this.events.splice(0)
  }
}

function failing(): never {
  throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', syscall: 'fdatasync' })
}

interface Opened {
  readonly db: Database
  readonly engine: ReturnType<typeof sqliteEngine>
  readonly store: Store
  readonly log: WatchedLog
}

async function open(settings = handleSettings('FULL')): Promise<Opened> {
  const db = new BetterSqlite3(file, { timeout: 0 })
  db.exec(settings)
  await migrateFile(db)
  const log = new WatchedLog()
  const engine = sqliteEngine(db, { source: systemSource, owned: true, clock: () => log.time, logFile: log })
  opened.push(engine)
  return { db, engine, log, store: storeOver(engine, async () => 1) }
}

function secondHandle(): Database {
  const other = new BetterSqlite3(file, { timeout: 0 })
  opened.push(other)
  return other
}

function* put(name: string): Program<string> {
  yield* run('putState', { name, value: 1 })
  return name
}

const isStored = (other: Database, name: string) =>
  other.prepare('SELECT 1 FROM skein_state WHERE name = ?').get(name) !== undefined

/** Lets the event loop turn. */
const turn = () => new Promise(resolve => setImmediate(resolve))

function gated(): { readonly opens: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opens: promise, open: resolve }
}

describe('a durable write on SQLite', () => {
  it('is synced before it is answered, and after other processes may write again', async () => {
    const { engine, log } = await open()
    const other = secondHandle()
    await engine.write(() => put('first'))
    log.take()
    log.before = () => {
      expect(isStored(other, 'mine')).toBe(true)
      other.exec('BEGIN IMMEDIATE; COMMIT')
    }
    await engine.write(() => put('mine')).then(() => log.events.push('answer'))
    expect(log.take()).toEqual(['sync', 'answer'])
  })

  it('is synced as its mode requires', async () => {
    const { engine, log } = await open()
    await engine.write(() => put('x'))
    log.take()
    for (const mode of ['relaxed', 'bulk', 'removingSome'] as const) {
      await engine.write(() => put('x'), mode)
      expect(log.take(), mode).toEqual([])
    }
    for (const mode of ['durable', 'removing', 'removingLast'] as const) {
      await engine.write(() => put('x'), mode)
      expect(log.take(), mode).toEqual(['sync'])
    }
  })

  it('is synced after drafts that are not, also if they had to wait for the lock', async () => {
    const { engine, log } = await open()
    const other = secondHandle()
    other.exec('BEGIN IMMEDIATE')
    const writes = (['relaxed', 'durable', 'relaxed', 'durable'] as const).map(mode =>
      engine.write(() => put(mode), mode).then(() => log.events.push(mode)),
    )
    setTimeout(() => other.exec('COMMIT'), 100)
    await Promise.all(writes)
    // A program sees its answer a microtask later, when the next one has been written.
    expect(log.take().filter(event => event === 'sync')).toHaveLength(2)
  })

  it('is not synced with durability normal, nor if it fails', async () => {
    const relaxed = await open(handleSettings('NORMAL'))
    await relaxed.engine.write(() => put('x'))
    expect(relaxed.log.take()).toEqual([])
    const { engine, log } = await open()
    await engine.write(() => put('x'))
    log.take()
    const failing = engine.write(function* (): Program<void> {
      yield* put('y')
      throw new RangeError('no')
    })
    await expect(failing).rejects.toThrow(RangeError)
    expect(log.take()).toEqual([])
  })

  it('shares one sync with the writes of its group', async () => {
    const { engine, log } = await open()
    await engine.write(() => put('x'))
    await turn()
    log.take()
    const names = Array.from({ length: 10 }, (_, i) => `n${i}`)
    expect(await Promise.all(names.map(name => engine.write(() => put(name))))).toEqual(names)
    // The first is not kept waiting for the others.
    expect(log.take()).toEqual(['sync', 'sync'])
  })

  it('publishes its sync to `skein:statement`', async () => {
    const { engine, log } = await open()
    await engine.write(() => put('x'))
    const traces: StatementTrace[] = []
    const note = (trace: unknown) => void traces.push(trace as StatementTrace)
    statementChannel.subscribe(note)
    onTestFinished(() => void statementChannel.unsubscribe(note))
    await engine.write(() => put('x'))
    log.failNext()
    await engine.write(() => put('x'))
    const syncs = traces.filter(({ statements: [name] }) => name === 'SYNC')
    expect(syncs).toEqual([
      { engine: 'sqlite', statements: ['SYNC'], rows: 0, ms: expect.any(Number) },
      expect.objectContaining({ error: expect.objectContaining({ code: 'EIO' }) }),
    ])
  })

  it('is synced by SQLite if the file has a rollback journal', async () => {
    const { db, engine, log } = await open('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;')
    await engine.write(() => put('x'))
    expect(log.take()).toEqual([])
    expect(db.pragma('synchronous', { simple: true })).toBe(2)
  })

  it('is synced by SQLite if the log cannot be opened', async () => {
    const { db, engine, log } = await open()
    log.open = () => {
      throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
    }
    await engine.write(() => put('x'), 'relaxed')
    await engine.write(() => put('x'))
    expect(log.take()).toEqual([])
    expect(db.pragma('synchronous', { simple: true })).toBe(2)
  })
})

describe('a repeated step on SQLite', () => {
  it('is synced, because its first writer may not have finished', async () => {
    const first = await open()
    const second = await open()
    const { branch } = await first.store.create()
    const append = ({ store }: Opened, to: BranchRef) =>
      store.append(to, null, [say('once')], { turn: { key: 't', step: 0 } })
    const { head } = await append(first, branch)
    await second.store.create()
    second.log.take()
    expect(await append(second, branch)).toMatchObject({ head, outcome: 'replayed' })
    expect(second.log.take()).toEqual(['sync'])
  })
})

describe('a slow disk', () => {
  async function openSlow() {
    const made = await open()
    made.log.isSlow = true
    await made.engine.write(() => put('slow'))
    made.log.take()
    return made
  }

  it('lets the event loop run during a sync, and answers after it', async () => {
    const { engine, log } = await openSlow()
    const gate = gated()
    log.gate = gate.opens
    const written = engine.write(() => put('x')).then(() => log.events.push('answer'))
    for (let i = 0; i < 5; i++) await turn()
    expect(log.take()).toEqual(['begin'])
    gate.open()
    await written
    expect(log.take()).toEqual(['end', 'answer'])
  })

  it('syncs once more for all writes that were committed during a sync', async () => {
    const { engine, log } = await openSlow()
    const other = secondHandle()
    const gate = gated()
    log.gate = gate.opens
    const written: Promise<unknown>[] = []
    for (const name of ['a', 'b', 'c', 'd']) {
      written.push(engine.write(() => put(name)).then(() => log.events.push(`answer ${name}`)))
      // Each has a transaction of its own, and the first sync begins.
      for (let i = 0; i < 3; i++) await turn()
      expect(isStored(other, name)).toBe(true)
    }
    expect(log.take()).toEqual(['begin'])
    gate.open()
    await Promise.all(written)
    expect(log.take()).toEqual(['end', 'answer a', 'begin', 'end', 'answer b', 'answer c', 'answer d'])
  })

  it('syncs callers together that write again and again', async () => {
    const { engine, log } = await openSlow()
    const callers = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    await Promise.all(
      callers.map(async caller => {
        for (let i = 0; i < 10; i++) await engine.write(() => put(`${caller}${i}`))
      }),
    )
    expect(log.take().filter(event => event === 'end')).toHaveLength(10)
  })

  it('is synced at once again when it is fast', async () => {
    const { engine, log } = await openSlow()
    log.isSlow = false
    await engine.write(() => put('x'))
    await engine.write(() => put('x'))
    expect(log.take()).toEqual(['begin', 'end', 'sync'])
  })

  it('is waited for when the store is closed', async () => {
    const { engine, log } = await openSlow()
    const gate = gated()
    log.gate = gate.opens
    const written = engine.write(() => put('x')).then(() => log.events.push('answer'))
    const closed = engine.close().then(() => log.events.push('closed'))
    for (let i = 0; i < 5; i++) await turn()
    expect(log.take()).toEqual(['begin'])
    gate.open()
    await Promise.all([written, closed])
    expect(log.take()).toEqual(['end', 'answer', 'close', 'closed'])
  })

  it('does not block the process for a large message', async () => {
    const { store, log } = await open()
    const { branch } = await store.create()
    log.take()
    await store.append(branch, null, [say('x'.repeat(1_500_000))])
    expect(log.take()).toEqual(['begin', 'end'])
  })
})

describe('a sync that fails', () => {
  const pages = (db: Database) =>
    db.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number; checkpointed: number }
  const copiesAlone = (db: Database) => db.pragma('wal_autocheckpoint', { simple: true }) !== 0

  it.each(['fast', 'slow'] as const)(
    'has the log written again and synced before the answer (%s disk)',
    async speed => {
      const { db, engine, log } = await open()
      log.isSlow = speed === 'slow'
      await engine.write(() => put('x'))
      log.take()
      log.failNext()
      const before = readFileSync(`${file}-wal`)
      const written = Promise.all([engine.write(() => put('a')), engine.write(() => put('b'))])
      await written.then(() => log.events.push('answers'))
      // The first of them is made by the function that failed.
      const again = log.take().filter(event => event !== 'begin')
      expect(again.slice(0, 1)).toEqual(['sync'])
      expect(again.at(-1)).toBe('answers')
      // What was in it is in it, byte by byte, and nothing was copied into the file.
      expect(readFileSync(`${file}-wal`).subarray(0, before.length)).toEqual(before)
      expect(pages(db).checkpointed).toBeLessThan(pages(db).log)
      expect(copiesAlone(db)).toBe(true)
    },
  )

  it('is reported to the callers of all writes in the transaction if the next one fails as well', async () => {
    const { db, engine, log } = await open()
    await engine.write(() => put('x'))
    await turn()
    const first = engine.write(() => put('a'))
    log.before = failing
    const others = [engine.write(() => put('b')), engine.write(() => put('c'))]
    const failed = engine.write(function* (): Program<void> {
      yield* put('d')
      throw new RangeError('no')
    })
    await first
    const settled = await Promise.allSettled([...others, failed])
    const reasons = settled.map(one => (one.status === 'rejected' ? one.reason : null))
    expect(reasons).toEqual([
      expect.any(OutcomeUnknownError),
      expect.any(OutcomeUnknownError),
      expect.any(RangeError),
    ])
    expect(reasons[0]).toMatchObject({ code: 'outcome_unknown', cause: { code: 'EIO' } })
    expect(copiesAlone(db)).toBe(false)
    log.before = () => undefined
    expect(await engine.write(() => put('e'))).toBe('e')
    expect(copiesAlone(db)).toBe(true)
  })

  it('keeps the log out of the file until it has been written again', async () => {
    const db = secondHandle()
    db.exec(`${handleSettings('FULL')} CREATE TABLE t (x); INSERT INTO t VALUES (1)`)
    const log = new WatchedLog()
    const disk = logSync(db, () => 0, log)
    expect(disk.takesOver()).toBe(true)
    log.before = failing
    await expect(disk.sync()).rejects.toThrow(OutcomeUnknownError)
    expect([disk.mayCopy(), await disk.mayCopyNow()]).toEqual([false, false])
    log.before = () => undefined
    expect([await disk.mayCopyNow(), disk.mayCopy()]).toEqual([true, true])
    disk.close()
  })

  it('has the log written again when the store is closed', async () => {
    const { engine, log } = await open()
    await engine.write(() => put('x'))
    log.before = failing
    await expect(engine.write(() => put('a'))).rejects.toThrow(OutcomeUnknownError)
    log.before = () => undefined
    log.take()
    await engine.close()
    expect(log.take()).toEqual(['sync', 'close'])
  })

  it('waits until another process has released the lock', async () => {
    const { engine, log } = await open()
    const other = secondHandle()
    await engine.write(() => put('x'))
    log.failNext()
    const written = engine.write(() => put('a')).then(() => log.events.push('answer'))
    other.exec('BEGIN IMMEDIATE')
    for (let i = 0; i < 3; i++) await turn()
    log.take()
    other.exec('COMMIT')
    await written
    expect(log.take()).toEqual(['sync', 'answer'])
  })

  it('is reported if the log has lost a page', async () => {
    const { db, engine, log } = await open()
    await engine.write(() => put('x'))
    log.before = () => {
      log.before = () => undefined
      // Some file systems forget what they could not write. The last page is the one of this transaction.
      const bytes = readFileSync(`${file}-wal`)
      bytes.fill(0, 32 + (pages(db).log - 1) * 4_120)
      writeFileSync(`${file}-wal`, bytes)
      failing()
    }
    const failed = engine.write(() => put('a'))
    await expect(failed).rejects.toMatchObject({ code: 'outcome_unknown', cause: { message: /lost pages/ } })
  })

  it('lets a step be repeated with its key, and stores it once', async () => {
    const { store, log } = await open()
    const { branch } = await store.create()
    const append = () => store.append(branch, null, [say('once')], { turn: { key: 't', step: 0 } })
    log.before = failing
    await expect(append()).rejects.toThrow(OutcomeUnknownError)
    log.before = () => undefined
    expect(await append()).toMatchObject({ outcome: 'replayed' })
    expect(await store.getConversation(branch.conversationId)).toMatchObject({ messages: 1 })
  })
})

describe('rewriteLog', () => {
  it('counts the pages of the log, and leaves out what an older log has left behind them', async () => {
    const db = secondHandle()
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (x)')
    const insert = db.prepare('INSERT INTO t VALUES (randomblob(?))')
    insert.run(300_000)
    db.pragma('wal_checkpoint(FULL)')
    insert.run(20_000)
    const [{ log }] = db.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
    const before = readFileSync(`${file}-wal`)
    expect(before.length).toBeGreaterThan(32 + (log + 10) * 4_120)
    const descriptor = openSync(`${file}-wal`, 'r+')
    expect(rewriteLog(descriptor)).toBe(log)
    expect(readFileSync(`${file}-wal`)).toEqual(before)
    closeSync(descriptor)
  })

  it('finds no page in an empty log', () => {
    writeFileSync(file, '')
    const descriptor = openSync(file, 'r+')
    expect(rewriteLog(descriptor)).toBe(0)
    closeSync(descriptor)
  })
})
