import BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'

/** More entries than one statement checks, and rows of two conversations that do not exist. */
it('counts all loose entries of the search index, and all rows without a conversation', async () => {
  const db = new BetterSqlite3(':memory:')
  db.pragma('foreign_keys = OFF')
  const store = await sqliteStore(db)
  for (let i = 0; i < 3; i++) await store.create()
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20050)
    INSERT INTO skein_search_map (r, n, form) SELECT (i << 44) + i, i, 2 FROM n;
    INSERT INTO skein_tags (conv, tag) VALUES (1, 'a'), (2, 'b'), (7, 'c'), (7, 'd'), (9, 'e')`)
  const found: string[] = []
  await store.verify({ onFinding: ({ what }) => found.push(what) })
  expect(found).toContain('the search index knows 20050 messages that are not there')
  expect(found).toContain('2 of tags belong to a conversation that is not there (7)')
  expect(found).toContain('1 of tags belong to a conversation that is not there (9)')
  expect(found.filter(what => what.includes('of tags'))).toHaveLength(2)
  db.close()
})
