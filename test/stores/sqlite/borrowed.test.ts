import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3, { type Database } from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { migrations } from '../../../src/stores/sqlite/migrations.ts'
import { holder, noMessage, say, startConversation } from '../../../src/testing/contract/build.ts'

/** A store on a handle of an application, next to the application's tables. */

let folder: string
let db: Database

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'borrowed-'))
  db = new BetterSqlite3(join(folder, 'application.db'))
  db.exec(`CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes (text) VALUES ('mine')`)
})
afterEach(() => {
  db.close()
  rmSync(folder, { recursive: true, force: true })
})

const notes = () => db.prepare('SELECT text FROM notes ORDER BY id').pluck().all()
const rows = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()

describe('a borrowed handle', () => {
  it("keeps the application's tables, settings and schema version (S0-50, S1-4)", async () => {
    db.pragma('user_version = 7')
    const names = ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout', 'user_version']
    names.push('wal_autocheckpoint', 'cache_size', 'recursive_triggers')
    const settings = () => names.map(name => [name, db.pragma(name, { simple: true })])
    const before = settings()
    const store = await sqliteStore(db)
    const { branch } = await startConversation(store)
    const turn = { key: 't', step: 0, status: 'open', holder: holder() } as const
    const { head } = await store.getBranch(branch)
    await store.append(branch, head, [say('question')], { turn })
    await store.putDraft(branch.conversationId, 't', holder(), [{ n: 0, type: 'text', text: 'x' }])
    expect(settings()).toEqual(before)
    expect(notes()).toEqual(['mine'])
    const ours = db.prepare(`SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'`).pluck().all()
    expect(ours.filter(name => !(name as string).startsWith('skein_'))).toEqual(['notes'])
  })

  it('stays open after close(), and a second store finds the stored data', async () => {
    const store = await sqliteStore(db)
    const { conversation } = await startConversation(store)
    await store.close()
    expect(db.open).toBe(true)
    expect(await (await sqliteStore(db)).getConversation(conversation.id)).toMatchObject({ messages: 3 })
  })

  it('says that an append inside a transaction of the application is not committed', async () => {
    const store = await sqliteStore(db)
    const { branch, ids } = await startConversation(store)
    const outside = await store.append(branch, ids[2], [say('a')])
    expect(outside).toMatchObject({ outcome: 'appended', committed: true })
    db.exec('BEGIN')
    db.exec(`INSERT INTO notes (text) VALUES ('order')`)
    const inside = store.append(branch, outside.head, [say('b')], { turn: { key: 't', step: 0 } })
    // Even if the application ends its transaction before it looks at the result.
    db.exec('ROLLBACK')
    expect(await inside).toMatchObject({ outcome: 'appended', committed: false })
    expect(notes()).toEqual(['mine'])
    expect((await store.getBranch(branch)).head).toBe(outside.head)
    db.exec('BEGIN')
    db.exec(`INSERT INTO notes (text) VALUES ('order')`)
    const kept = await store.append(branch, outside.head, [say('b')], { turn: { key: 't', step: 0 } })
    await expect(store.append(branch, noMessage, [say('late')])).rejects.toMatchObject({ code: 'conflict' })
    db.exec('COMMIT')
    expect(kept.committed).toBe(false)
    expect(notes()).toEqual(['mine', 'order'])
    expect((await store.getBranch(branch)).head).toBe(kept.head)
  })

  it.each(['skein_messages (id INTEGER)', 'skein_state (x)', 'skein_state (name, value)'])(
    'refuses a table of the application with a name of ours, and touches nothing: %s',
    async table => {
      db.exec(`CREATE TABLE ${table}; INSERT INTO ${table.split(' ')[0]} DEFAULT VALUES`)
      const schema = () => db.prepare('SELECT name, sql FROM sqlite_master ORDER BY name').all()
      const before = schema()
      await expect(sqliteStore(db)).rejects.toMatchObject({ code: 'misconfigured', part: 'tables' })
      expect(schema()).toEqual(before)
      expect(db.inTransaction).toBe(false)
      expect(notes()).toEqual(['mine'])
    },
  )

  it('is unavailable after its owner has closed it', async () => {
    const store = await sqliteStore(db)
    db.close()
    await expect(store.create()).rejects.toMatchObject({ code: 'unavailable' })
    await expect(store.countConversations()).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('works with foreign keys switched off and leaves no orphans', async () => {
    db.pragma('foreign_keys = OFF')
    const store = await sqliteStore(db)
    const { conversation, branch, ids } = await startConversation(store, { tags: ['a'], metadata: { k: 1 } })
    await store.append(branch, ids[2], [say('x'.repeat(40_000))], { turn: { key: 't', step: 0 } })
    await store.addEvents(conversation.id, [{ type: 'plan' }])
    await store.setAgentLink(branch, { agent: 'a', directory: '/', foreignId: 'f', seen: null })
    await store.claimSummary(conversation.id, { first: ids[0], last: ids[1] }, holder())
    await store.indexSearch()
    await store.deleteMessages([ids[2]], { recursive: true })
    await store.trash(conversation.id)
    await store.purge(conversation.id)
    const tables = db
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'skein\\_%' ESCAPE '\\'`)
      .pluck()
      .all() as string[]
    const shadows = /^skein_search_(data|idx|docsize|config|content)$/
    const left = tables.filter(name => !shadows.test(name) && name !== 'skein_state' && rows(name) !== 0)
    expect(left).toEqual([])
  })

  it('may return integers as BigInts', async () => {
    db.defaultSafeIntegers(true)
    const store = await sqliteStore(db)
    const { conversation, ids } = await startConversation(store)
    expect(await store.getConversation(conversation.id)).toMatchObject({ messages: 3, version: 2 })
    expect(await pathOf(store, ids[2])).toHaveLength(3)
    expect(await store.schemaVersion()).toBe(migrations.at(-1)!.version)
    expect(db.prepare('SELECT 1').pluck().get()).toBe(1n)
  })
})

describe("a transaction of the handle's owner", () => {
  let store: Store
  beforeEach(async () => {
    store = await sqliteStore(db)
  })

  it('commits our writes', async () => {
    db.exec('BEGIN')
    db.prepare('INSERT INTO notes (text) VALUES (?)').run('and more')
    const { conversation, ids } = await startConversation(store)
    expect(await pathOf(store, ids[2])).toHaveLength(3)
    expect(db.inTransaction).toBe(true)
    db.exec('COMMIT')
    expect(notes()).toEqual(['mine', 'and more'])
    expect(await store.getConversation(conversation.id)).toMatchObject({ messages: 3 })
  })

  it('rolls our writes back', async () => {
    db.exec('BEGIN')
    const { conversation } = await startConversation(store)
    expect(await store.indexSearch()).toBe(3)
    db.exec('ROLLBACK')
    await expect(store.getConversation(conversation.id)).rejects.toMatchObject({ code: 'not_found' })
    expect([rows('skein_messages'), rows('skein_search_map'), rows('skein_branches')]).toEqual([0, 0, 0])
    await startConversation(store)
    expect((await store.search('one')).items).toHaveLength(1)
  })

  it('survives a refused write of ours, which leaves nothing', async () => {
    db.exec('BEGIN')
    db.prepare('INSERT INTO notes (text) VALUES (?)').run('kept')
    const { branch, ids } = await startConversation(store)
    const late = store.append(branch, ids[0], [say('too late')])
    await expect(late).rejects.toMatchObject({ code: 'conflict' })
    const half = store.save(branch.conversationId, [
      { message: say('stored first'), parent: null },
      { message: say('and then refused'), parent: noMessage },
    ])
    await expect(half).rejects.toMatchObject({ code: 'not_found' })
    expect(db.inTransaction).toBe(true)
    db.exec('COMMIT')
    expect(notes()).toEqual(['mine', 'kept'])
    expect(rows('skein_messages')).toBe(3)
  })

  it('is not affected by creating a store if the tables exist', async () => {
    db.exec('BEGIN')
    db.prepare('INSERT INTO notes (text) VALUES (?)').run('kept')
    await sqliteStore(db)
    expect(db.inTransaction).toBe(true)
    db.exec('COMMIT')
    expect(notes()).toEqual(['mine', 'kept'])
  })

  it('is neither ended nor undone by a store that would have to create its tables', async () => {
    const fresh = new BetterSqlite3(join(folder, 'other.db'))
    try {
      fresh.exec('CREATE TABLE notes (text TEXT); BEGIN; INSERT INTO notes VALUES (1)')
      await expect(sqliteStore(fresh)).rejects.toMatchObject({ code: 'invalid' })
      expect(fresh.inTransaction).toBe(true)
      fresh.exec('COMMIT')
      expect(fresh.prepare('SELECT count(*) FROM notes').pluck().get()).toBe(1)
    } finally {
      fresh.close()
    }
  })
})
