import BetterSqlite3, { type Database } from 'better-sqlite3'
import { beforeEach, expect, it } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import type { Store } from '../../../src/core/ports.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { startConversation } from '../../../src/testing/contract/build.ts'

let db: Database
let store: Store

beforeEach(async () => {
  db = new BetterSqlite3(':memory:')
  store = await sqliteStore(db, { indexing: 'manual' })
})

const damage = (id: MessageId) => db.prepare(`UPDATE skein_messages SET body = '{"b":' WHERE id = ?`).run(id)

it('shows a damaged message as null, and everything else', async () => {
  const broken = await startConversation(store)
  const whole = await startConversation(store)
  damage(broken.ids[0])
  damage(broken.ids[2])
  const { items } = await store.listConversations()
  const overviews = await store.readOverviews(items)
  const of = (id: string) => overviews.find(({ conversation }) => conversation.id === id)
  expect(of(broken.conversation.id)).toMatchObject({ first: null, last: null, pathMessages: 3, branches: 1 })
  expect(of(whole.conversation.id)).toMatchObject({
    first: { id: whole.ids[0] },
    last: { id: whole.ids[2] },
    pathMessages: 3,
  })
})

it('shows the other conversations if the engine cannot read one of them', async () => {
  const broken = await startConversation(store)
  const whole = await startConversation(store)
  const { items } = await store.listConversations()
  const prepare = db.prepare.bind(db)
  // As SQLite fails at a damaged page: only statements that look at the one conversation.
  db.function('readable', (id: unknown) => {
    if (id !== broken.conversation.id) return 1
    throw Object.assign(new BetterSqlite3.SqliteError('database disk image is malformed', 'SQLITE_CORRUPT'))
  })
  db.prepare = ((sql: string) =>
    prepare(sql.replace('ON c.id = w.value', 'ON c.id = w.value AND readable(c.id)'))) as typeof db.prepare
  const fresh = await sqliteStore(db, { indexing: 'manual' })
  const overviews = await fresh.readOverviews(items)
  expect(overviews.map(({ last }) => last?.id ?? null).sort()).toEqual([whole.ids[2], null].sort())
  expect(overviews.map(({ conversation }) => conversation)).toEqual(items)
})
