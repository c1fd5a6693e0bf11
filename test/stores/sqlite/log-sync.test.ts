import type { Database } from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { Program } from '../../../src/stores/engine/engine.ts'
import { handleSettings } from '../../../src/stores/sqlite/handle-settings.ts'
import { type StatementTrace, statementChannel } from '../../../src/system/debug.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { type OpenedStore, put, testFile, turn } from './watched-log.ts'

const { open, secondHandle } = testFile()

const isStored = (other: Database, name: string) =>
  other.prepare('SELECT 1 FROM skein_state WHERE name = ?').get(name) !== undefined

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
    const append = ({ store }: OpenedStore, to: BranchRef) =>
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
