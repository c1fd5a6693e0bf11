import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { indexElsewhere } from '../../../src/stores/sqlite/index-elsewhere.ts'
import { statementChannel } from '../../../src/system/debug.ts'
import { say } from '../../../src/testing/contract/build.ts'

function makeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'skein-elsewhere-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'store.db')
}

/** Adds a segment of entries without messages, as many as a large store has. */
function addSegment(db: BetterSqlite3.Database, from: number, count: number): void {
  db.prepare(
    `WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO skein_search (rowid, tokens) SELECT i, '=all word' || (i % 50) FROM n`,
  ).run(from, from + count - 1)
}

function blocksOf(db: BetterSqlite3.Database): number {
  return db.prepare('SELECT count(*) FROM skein_search_idx').pluck().get() as number
}

it('empties a large index in another process, and indexes every message again', async () => {
  const file = makeFile()
  const store = await openSqliteStore(file, { indexing: 'manual' })
  onTestFinished(() => store.close())
  const { branch } = await store.create()
  await store.append(branch, null, [say('a marmot')])
  await store.indexSearch()
  const db = new BetterSqlite3(file)
  onTestFinished(() => void db.close())
  addSegment(db, 1, 20_000)
  const statements: string[] = []
  const listen = (message: unknown) => statements.push(...(message as { statements: string[] }).statements)
  statementChannel.subscribe(listen)
  onTestFinished(() => void statementChannel.unsubscribe(listen))
  await store.rebuildSearch()
  expect(statements).not.toContain('clearSearch')
  expect(blocksOf(db)).toBe(0)
  expect(await store.indexSearch()).toBe(1)
  expect((await store.search('marmot')).items).toHaveLength(1)

  // A small index is emptied here.
  await store.rebuildSearch()
  expect(statements).toContain('clearSearch')
  expect(await store.indexSearch()).toBe(1)
})

it('merges large segments of the index in another process, beside writers', async () => {
  const file = makeFile()
  const store = await openSqliteStore(file, { indexing: 'manual' })
  onTestFinished(() => store.close())
  const db = new BetterSqlite3(file)
  onTestFinished(() => void db.close())
  const { signal } = new AbortController()
  for (let i = 0; i < 4; i++) addSegment(db, 1 + i * 30_000, 30_000)
  const segments = () => db.prepare('SELECT count(DISTINCT segid) FROM skein_search_idx').pluck().get()
  expect(segments()).toBe(4)
  const merged = indexElsewhere(db, { work: 'tidy', isIdle: false, signal })
  const { branch } = await store.create()
  let head = (await store.append(branch, null, [say('first')])).head
  for (let i = 0; i < 50; i++) head = (await store.append(branch, head, [say(`message ${i}`)])).head
  expect(await merged).toBe(true)
  expect(segments()).toBe(1)
  const entries = db.prepare(`SELECT count(*) FROM skein_search WHERE skein_search MATCH '"=all"'`)
  expect(entries.pluck().get()).toBe(120_000)
  expect(await indexElsewhere(db, { work: 'tidy', isIdle: false, signal })).toBe(false)
})

it('leaves the index as it was when the store is closed during a merge', async () => {
  const file = makeFile()
  const store = await openSqliteStore(file, { indexing: 'manual' })
  await store.close()
  const db = new BetterSqlite3(file)
  onTestFinished(() => void db.close())
  for (let i = 0; i < 4; i++) addSegment(db, 1 + i * 30_000, 30_000)
  const closing = new AbortController()
  const merged = indexElsewhere(db, { work: 'tidy', isIdle: true, signal: closing.signal })
  closing.abort(new Error('closed'))
  expect(await merged).toBe(true)
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  const entries = db.prepare(`SELECT count(*) FROM skein_search WHERE skein_search MATCH '"=all"'`)
  expect(entries.pluck().get()).toBe(120_000)
})

it('leaves few parts of the index after short batches, so that a search looks up each word in few', async () => {
  const file = makeFile()
  const store = await openSqliteStore(file, { indexing: 'manual', durability: 'normal' })
  onTestFinished(() => store.close())
  const { branch } = await store.create()
  let head = branch.head
  const db = new BetterSqlite3(file, { readonly: true })
  onTestFinished(() => void db.close())
  for (let n = 0; n < 60; n++) {
    head = (await store.append(branch, head, [say(`marmot ${n}`)])).head
    await store.indexSearch()
  }
  const segments = db.prepare('SELECT count(DISTINCT segid) FROM skein_search_idx').pluck().get()
  expect(segments).toBeLessThanOrEqual(16)
  expect((await store.search('marmot', { limit: 100 })).items).toHaveLength(60)
})
