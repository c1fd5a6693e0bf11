import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { OutcomeUnknownError } from '../../../src/core/errors.ts'
import type { Program } from '../../../src/stores/engine/engine.ts'
import { handleSettings } from '../../../src/stores/sqlite/handle-settings.ts'
import { logSync } from '../../../src/stores/sqlite/log-sync.ts'
import { rewriteLog } from '../../../src/stores/sqlite/rewrite-log.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { failing, put, testFile, turn, WatchedLog } from './watched-log.ts'

const file = testFile()
const { open, secondHandle } = file

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
      const before = readFileSync(`${file.path()}-wal`)
      const written = Promise.all([engine.write(() => put('a')), engine.write(() => put('b'))])
      await written.then(() => log.events.push('answers'))
      // The first of them is made by the function that failed.
      const again = log.take().filter(event => event !== 'begin')
      expect(again.slice(0, 1)).toEqual(['sync'])
      expect(again.at(-1)).toBe('answers')
      // What was in it is in it, byte by byte, and nothing was copied into the file.
      expect(readFileSync(`${file.path()}-wal`).subarray(0, before.length)).toEqual(before)
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
      const bytes = readFileSync(`${file.path()}-wal`)
      bytes.fill(0, 32 + (pages(db).log - 1) * 4_120)
      writeFileSync(`${file.path()}-wal`, bytes)
      failing()
    }
    const failed = engine.write(() => put('a'))
    await expect(failed).rejects.toMatchObject({
      code: 'outcome_unknown',
      cause: { message: expect.stringMatching(/lost pages/) },
    })
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
    const before = readFileSync(`${file.path()}-wal`)
    expect(before.length).toBeGreaterThan(32 + (log + 10) * 4_120)
    const descriptor = openSync(`${file.path()}-wal`, 'r+')
    expect(rewriteLog(descriptor)).toBe(log)
    expect(readFileSync(`${file.path()}-wal`)).toEqual(before)
    closeSync(descriptor)
  })

  it('finds no page in an empty log', () => {
    writeFileSync(file.path(), '')
    const descriptor = openSync(file.path(), 'r+')
    expect(rewriteLog(descriptor)).toBe(0)
    closeSync(descriptor)
  })
})
