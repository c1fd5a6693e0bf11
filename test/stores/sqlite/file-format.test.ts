import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { pathOf } from '../../../src/core/path.ts'
import type { MessageReader } from '../../../src/core/ports.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'

/** A file that does not exist yet, in a folder that is removed with the test. */
function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'file-format-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'below', 'conversations.db')
}

const question = { role: 'user', content: 'Why is the build red?' } as const

it('opens or creates the file, makes the tables, and serves consumers that need one method (S0-19, S3-69)', async () => {
  const file = newFile()
  const store = await openSqliteStore(file)
  const { branch } = await store.create()
  const { head } = await store.append(branch, null, [question])
  const reader: Pick<MessageReader, 'listPath'> = store
  expect(await pathOf(reader, head)).toHaveLength(1)
  await store.close()
  await expect(pathOf(reader, head)).rejects.toMatchObject({ code: 'unavailable' })
  expect(readFileSync(file).subarray(0, 16).toString()).toBe('SQLite format 3\0')
})

it('stores every time as an integer of milliseconds since 1970 (S0-27)', async () => {
  const file = newFile()
  const store = await openSqliteStore(file)
  const { branch } = await store.create({ expiresAt: new Date(4_000_000_000_000) })
  const at = new Date('2026-01-02T03:04:05.678Z')
  await store.append(branch, null, [{ ...question, createdAt: at }])
  await store.close()
  const db = new BetterSqlite3(file, { readonly: true })
  onTestFinished(() => void db.close())
  const columns = db
    .prepare(
      `SELECT t.name || '.' || c.name AS name, c.type FROM pragma_table_list t, pragma_table_info(t.name) c
       WHERE t.name LIKE 'skein_%' AND (c.name = 'at' OR c.name LIKE '%_at' OR c.name = 'lease_until')`,
    )
    .all() as { name: string; type: string }[]
  expect(columns.length).toBeGreaterThan(10)
  expect(columns.filter(({ type }) => type !== 'INTEGER')).toEqual([])
  expect(db.prepare('SELECT at FROM skein_messages').pluck().get()).toBe(at.getTime())
  expect(db.prepare('SELECT expires_at FROM skein_conversations').pluck().get()).toBe(4_000_000_000_000)
})

it('writes and reads conversations without the search index (S0-28)', async () => {
  const file = newFile()
  const store = await openSqliteStore(file)
  const { conversation, branch } = await store.create()
  const { head } = await store.append(branch, null, [question])
  await pathOf(store, head)
  await store.tail(head, { messages: 1 })
  await store.listMessages({ conversationId: conversation.id })
  const db = new BetterSqlite3(file, { readonly: true })
  onTestFinished(() => void db.close())
  const indexed = () => db.prepare('SELECT count(*) FROM skein_search_map').pluck().get()
  expect(indexed()).toBe(0)
  expect((await store.search('build')).items).toHaveLength(1)
  await store.indexSearch()
  expect(indexed()).toBe(1)
  await store.close()
})
