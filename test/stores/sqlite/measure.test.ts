import BetterSqlite3 from 'better-sqlite3'
import { expect, it } from 'vitest'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'

/** More turns than one piece holds, in conversations whose turns end inside a piece. */
it('sums the usage of many turns in pieces, each turn once', async () => {
  const db = new BetterSqlite3(':memory:')
  const store = await sqliteStore(db)
  for (let i = 0; i < 3; i++) await store.create()
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 12345)
    INSERT INTO skein_turns (conv, key, branch, first, last, last_step, status, model, usage, started_at)
    SELECT 1 + i % 3, hex(randomblob(8)), 'main', i, i, 0, 'complete', CASE i % 4 WHEN 0 THEN NULL ELSE 'm' || i % 4 END,
      CASE i % 5 WHEN 0 THEN '{}' ELSE '{"input":' || i || ',"output":1,"cost":0.5}' END, i * 1000
    FROM n`)
  const { usage } = await store.measure(new Date(6_000_000))
  const expected = db.prepare(`
    SELECT model, CASE WHEN started_at >= 6000000 THEN started_at / 900000 END AS quarter, count(*) AS turns,
      coalesce(sum(usage ->> 'input'), 0) AS input, coalesce(sum(usage ->> 'output'), 0) AS output,
      coalesce(sum(usage ->> 'cost'), 0.0) AS cost, 0 AS uncosted
    FROM skein_turns GROUP BY 1, 2 ORDER BY 2, 1`)
  expect(usage).toEqual(expected.all())
  expect(usage.length).toBeGreaterThan(8)
  db.close()
})

it('sums the search index in pieces', async () => {
  const db = new BetterSqlite3(':memory:')
  const store = await sqliteStore(db)
  db.unsafeMode(true)
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4100)
    INSERT INTO skein_search_data (id, block) SELECT 1000000 + i, zeroblob(i) FROM n`)
  const bytes = db.prepare('SELECT sum(length(block)) FROM skein_search_data').pluck().get()
  const { sizes } = await store.measure(new Date(0))
  expect(sizes).toContainEqual({ name: 'search index', bytes })
  db.close()
})
