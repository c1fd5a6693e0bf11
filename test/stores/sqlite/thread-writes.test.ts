import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { CorruptError } from '../../../src/core/errors.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { all, type Engine, type Program, run } from '../../../src/stores/engine/engine.ts'
import { isThreadReady } from '../../../src/stores/sqlite/blocking-work-thread.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { type GroupEngine, groupCommit } from '../../../src/stores/sqlite/group-commit.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { mostSent, threadWriter } from '../../../src/stores/sqlite/thread-writes.ts'
import { systemSource } from '../../../src/system/source.ts'

let folder: string
let file: string
let db: Database
let other: Database
let engine: Engine

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'thread-'))
  file = join(folder, 'conversations.db')
  db = new BetterSqlite3(file, { timeout: 0 })
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = OFF')
  // Disables SQLite's own checkpoints.
  db.pragma('wal_autocheckpoint = 0')
  await migrateFile(db)
  other = new BetterSqlite3(file, { timeout: 0 })
  engine = sqliteEngine(db, { source: systemSource, owned: true })
})
afterEach(async () => {
  await engine.close()
  other.close()
  rmSync(folder, { recursive: true, force: true })
})

function* put(name: string, value: number): Program<void> {
  yield* run('putState', { name, value })
}

/** Writes enough for the thread to copy the log, after which it makes the transactions of long work. */
async function startThread(): Promise<void> {
  await engine.write(function* () {
    for (let n = 0; n < 300; n++) yield* put(`${n} ${'x'.repeat(20_000)}`, n)
  }, 'bulk')
  expect(isThreadReady()).toBe(true)
}

/** What another process would see. */
const stateOf = (name: string) =>
  other.prepare('SELECT value FROM skein_state WHERE name = ?').pluck().get(name) as number | undefined

const changesHere = () => db.prepare('SELECT total_changes()').pluck().get() as number

describe('transactions of long work', () => {
  it('use a handle with the same limit for its pages', async () => {
    db.pragma('cache_size = -2000')
    await startThread()
    const posted = vi.spyOn(Worker.prototype, 'postMessage')
    onTestFinished(() => posted.mockRestore())
    await engine.write(() => put('small cache', 1), 'bulk')
    const [{ work }] = posted.mock.calls[0] as [{ work: { settings: string } }]
    const db2 = new BetterSqlite3(file, { timeout: 0 })
    onTestFinished(() => void db2.close())
    db2.exec(work.settings)
    expect(db2.pragma('cache_size', { simple: true })).toBe(-2000)
  })

  it('are written by the thread once it runs, and all others by this one', async () => {
    const before = changesHere()
    await engine.write(() => put('early', 1), 'bulk')
    expect(changesHere()).toBe(before + 1)
    await startThread()
    const started = changesHere()
    await engine.write(() => put('bulk', 1), 'bulk')
    await engine.write(() => put('some', 2), 'removingSome')
    await engine.write(() => put('last', 3), 'removingLast')
    expect(changesHere()).toBe(started)
    await engine.write(() => put('removed', 4), 'removing')
    await engine.write(() => put('durable', 5))
    expect(changesHere()).toBe(started + 2)
    expect(['early', 'bulk', 'some', 'last', 'removed', 'durable'].map(stateOf)).toEqual([1, 1, 2, 3, 4, 5])
  })

  it('read what they have written, and return their result', async () => {
    await startThread()
    const seen = await engine.write(function* () {
      yield* put('a', 1)
      const [before] = yield* all('state', { name: 'a' })
      // More than are sent at once.
      for (let n = 0; n < 450; n++) yield* put('a', n)
      const [after] = yield* all('state', { name: 'a' })
      return [before?.value, after?.value]
    }, 'bulk')
    expect(seen).toEqual([1, 449])
  })

  it('leave nothing if the program throws, and no lock', async () => {
    await startThread()
    const failing = engine.write(function* () {
      yield* put('half', 1)
      yield* all('state', { name: 'half' })
      throw new Error('stopped')
    }, 'bulk')
    await expect(failing).rejects.toThrow('stopped')
    other.exec(`BEGIN IMMEDIATE; COMMIT`)
    expect(stateOf('half')).toBeUndefined()
    await engine.write(() => put('half', 2), 'bulk')
    expect(stateOf('half')).toBe(2)
  })

  it('fail with the typed error of a statement, and leave nothing', async () => {
    await startThread()
    const failing = engine.write(function* () {
      yield* put('half', 1)
      yield* run('putState', { name: null as unknown as string, value: 1 })
    }, 'bulk')
    await expect(failing).rejects.toBeInstanceOf(CorruptError)
    expect(stateOf('half')).toBeUndefined()
    other.exec(`BEGIN IMMEDIATE; COMMIT`)
  })

  it('take effect in the order of the calls, together with other writes', async () => {
    await startThread()
    const modes = ['bulk', 'durable', 'durable', 'removingSome', 'durable', 'bulk', 'relaxed'] as const
    const seen: number[] = []
    const note = (n: number) =>
      function* (): Program<void> {
        const [row] = yield* all('state', { name: 'order' })
        seen.push((row?.value as number | undefined) ?? -1)
        yield* put('order', n)
      }
    await Promise.all(modes.map((mode, n) => engine.write(note(n), mode)))
    expect(seen).toEqual([-1, 0, 1, 2, 3, 4, 5])
  })

  it('wait for another process that is writing, while the event loop turns', async () => {
    await startThread()
    other.exec('BEGIN IMMEDIATE')
    const written = engine.write(() => put('later', 1), 'bulk')
    for (let i = 0; i < 20; i++) await new Promise(resolve => setTimeout(resolve, 1))
    other.exec('COMMIT')
    await written
    expect(stateOf('later')).toBe(1)
  })

  it('of the search index do not make close() wait for another process', async () => {
    await startThread()
    other.exec('BEGIN IMMEDIATE')
    const indexed = engine.write(() => put('entry', 1), 'bulk').catch(error => error)
    for (let i = 0; i < 20; i++) await new Promise(resolve => setTimeout(resolve, 1))
    await engine.close()
    expect(await indexed).toMatchObject({ code: 'unavailable' })
    // A write that has waited as long as it may says for how many seconds.
    expect((await indexed).message).not.toMatch(/\d s\)/)
  })

  it('leave no log behind when the store is closed', async () => {
    await startThread()
    const written = engine.write(() => put('last', 1), 'removingLast')
    const closed = engine.close()
    await written
    await closed
    other.close()
    expect(existsSync(`${file}-wal`)).toBe(false)
    other = new BetterSqlite3(file, { readonly: true })
    expect(stateOf('last')).toBe(1)
  })

  it('are written by this thread if one of their values is larger than 64 MB', async () => {
    const startThread = vi.fn()
    const writer = threadWriter(db, { thread: () => null, startThread })
    const values = [new Uint8Array(1), new Uint8Array(mostSent + 1)]
    expect(await writer.run(() => put('x', 1), 'large', { values })).toBeNull()
    expect(startThread).not.toHaveBeenCalled()
    expect(await writer.run(() => put('x', 1), 'large', { values: values.slice(0, 1) })).toBeNull()
    expect(startThread).toHaveBeenCalledOnce()
  })

  it('are written by this thread if the other one has ended', async () => {
    const ran: string[] = []
    const fake: GroupEngine = {
      file: null,
      clock: () => 0,
      isForThread: () => true,
      runInThread: async () => {
        ran.push('thread')
        return null
      },
      runAlone: () => {
        ran.push('here')
        return 'done'
      },
      begin: () => undefined,
      runNested: () => undefined,
      commit: () => undefined,
      sync: () => null,
      isLockBrief: () => false,
      wrote: () => false,
      copyToWaitFor: () => null,
    }
    expect(await groupCommit(db, fake).write(() => put('x', 1), 'bulk')).toBe('done')
    expect(ran).toEqual(['thread', 'here'])
  })
})

const none = { damage: 0, repairable: 0, note: 0 }

describe('a purge', () => {
  it('that was killed in the thread leaves a sound store, and the next one removes the rest', async () => {
    const store = await openSqliteStore(file, { durability: 'normal' })
    const { branch } = await store.create()
    const { branch: kept } = await store.create()
    const words = Array.from({ length: 8 }, (_, i) => `hiddenword${'abcdefgh'[i]}`)
    let head = null
    for (let i = 0; i < 40; i++) {
      const messages = Array.from({ length: 25 }, (_, n) => {
        const [callId, text] = [`${i}-${n}`, `${words[n % 8]} ${'more words '.repeat(100)}`]
        return [
          { role: 'assistant', content: [{ type: 'tool_call', callId, name: 'read', input: { text } }] },
          { role: 'tool_result', content: [{ type: 'tool_result', callId, output: text }] },
        ] satisfies NewMessage[]
      })
      const turn = { key: `turn ${i}`, step: 0 }
      head = (await store.append(branch, head, messages.flat(), { turn })).head
    }
    await store.append(kept, null, [{ role: 'user', content: 'kept' }])
    await store.indexSearch()
    const id = branch.conversationId
    await store.trash(id)
    await store.close()

    const child = spawn(process.execPath, ['--input-type=module', '-e', purging(file, id)])
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')
    const left = other.prepare('SELECT count(*) FROM skein_messages').pluck().get() as number
    expect(left).toBeGreaterThan(1)
    expect(left).toBeLessThan(2_001)
    other.close()

    await using again = await openSqliteStore(file)
    expect((await again.verify()).findings).toEqual(none)
    expect((await again.purge(id)).messages).toBe(left - 1)
    expect((await again.verify()).findings).toEqual(none)
    expect(await again.countConversations()).toBe(1)
    await again.compact()
    const bytes = ['', '-wal'].map(end => readFileSync(`${file}${end}`, 'latin1')).join('')
    expect(words.filter(word => bytes.includes(word))).toEqual([])
    expect(bytes).toContain('kept')
  }, 60_000)
})

/** Purges a conversation, and kills itself after the second piece that the thread has removed. */
function purging(path: string, id: string): string {
  const source = (name: string) => JSON.stringify(new URL(`../../../src/${name}`, import.meta.url).href)
  return `
    import { openSqliteStore } from ${source('stores/sqlite/index.ts')}
    import { isThreadReady } from ${source('stores/sqlite/blocking-work-thread.ts')}
    import { statementChannel } from ${source('system/debug.ts')}
    let pieces = 0
    statementChannel.subscribe(({ statements: [name] }) => {
      if (name === 'deleteMessages' && isThreadReady() && ++pieces === 2) process.kill(process.pid, 'SIGKILL')
    })
    const store = await openSqliteStore(${JSON.stringify(path)})
    await store.purge(${JSON.stringify(id)})
  `
}
