import BetterSqlite3 from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { collectHits } from '../../../src/core/collect-hits.ts'
import type { SearchOptions } from '../../../src/core/listing.ts'
import type { Store } from '../../../src/core/ports.ts'
import type { Engine } from '../../../src/stores/engine/engine.ts'
import { sqliteEngine } from '../../../src/stores/sqlite/engine.ts'
import { migrateFile } from '../../../src/stores/sqlite/migrate.ts'
import { storeOver } from '../../../src/stores/store/store-over.ts'
import { systemSource } from '../../../src/system/source.ts'
import { say } from '../../../src/testing/contract/build.ts'

/** Messages of few milliseconds: a piece must not end inside one. */
const messages = 200

async function makeStores() {
  const db = new BetterSqlite3(':memory:')
  onTestFinished(() => void db.close())
  await migrateFile(db)
  let time = 1_000_000
  const source = { ...systemSource, now: () => Math.floor(time) }
  const engine = sqliteEngine(db, { source, owned: true })
  const statements: string[] = []
  const query: Engine['query'] = program =>
    engine.query(function* () {
      const inner = program()
      let step = inner.next()
      while (!step.done) {
        statements.push(JSON.stringify(step.value))
        step = inner.next(yield step.value)
      }
      return step.value
    })
  const whole = storeOver({ ...engine, rowsPerStatement: null }, async () => 1)
  const pieces = storeOver({ ...engine, query, rowsPerStatement: 20 }, async () => 1)
  const conversations = await Promise.all([
    whole.create({ directory: '/rare' }),
    whole.create({ directory: '/work' }),
    whole.create({ kind: 'subagent' }),
  ])
  const words = ['red', 'read', 'ready', 'blue', 'blunt', 'green']
  for (let i = 0; i < messages; i++) {
    const { branch } = conversations[i % 97 === 5 ? 0 : i % 3 === 0 ? 2 : 1]!
    const { head } = await whole.getBranch(branch)
    await whole.append(branch, head, [say(`${words[i % 6]} ${words[(i * 5 + (i % 7)) % 6]} ${i}`)])
    time += i % 50 === 0 ? 100 : 0.2
  }
  await whole.indexSearch()
  return { whole, pieces, statements }
}

/** All hits, page by page. */
async function idsOf(store: Store, query: string, options: SearchOptions): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null = null, pages = 0; pages === 0 || after !== null; pages++) {
    const page = await store.search(query, { ...options, ...(after !== null && { after }) })
    ids.push(...page.items.map(({ message }) => message.id))
    after = page.next
  }
  return ids
}

it('finds the same messages in pieces of the index as in one statement', async () => {
  const { whole, pieces } = await makeStores()
  const queries = ['red', 're*', 'bl*', 'red blue', 're* bl*', '"red bl*"', '"blue re*"', 'zz*', '-red re*']
  const filters: SearchOptions[] = [{}, { directory: '/rare' }, { directory: '/none' }, { kind: 'subagent' }]
  for (const query of queries) {
    for (const filter of filters) {
      const expected = await idsOf(whole, query, { ...filter, limit: 200, budgetMs: 600_000 })
      for (const limit of [7, 60]) {
        for (const budgetMs of [0, 600_000]) {
          const found = await idsOf(pieces, query, { ...filter, limit, budgetMs })
          expect(found, `${query} ${JSON.stringify(filter)} ${limit} ${budgetMs}`).toEqual(expected)
        }
      }
    }
  }
})

it('is repeated by collectHits until there are enough hits, where the budget ends each page early', async () => {
  const { whole, pieces } = await makeStores()
  const wanted = { directory: '/work', limit: 20, budgetMs: 0 }
  const page = await pieces.search('re*', wanted)
  expect(page.items.length).toBeLessThan(20)
  expect(page.next).not.toBeNull()
  const all = await idsOf(whole, 're*', { directory: '/work', limit: 200, budgetMs: 600_000 })
  expect(all.length).toBeGreaterThan(20)
  const found = await collectHits(pieces, 're*', wanted)
  expect(found.items.map(({ message }) => message.id)).toEqual(all.slice(0, 20))
  const rest = await collectHits(pieces, 're*', { ...wanted, limit: 200, after: found.next! })
  expect(rest.items.map(({ message }) => message.id)).toEqual(all.slice(20))
  expect(rest.next).toBeNull()
})

it('compares at most a bounded number of matches with a filter in one statement', async () => {
  const { pieces, statements } = await makeStores()
  await pieces.search('green', { directory: '/none' })
  const ranges = statements.map(text => JSON.parse(text)).filter(({ name }) => name === 'candidates')
  expect(ranges.length).toBeGreaterThanOrEqual(4)
  const froms = ranges.map(({ params }) => params.from)
  expect(froms).toEqual(froms.toSorted((a, b) => b - a))
})

it('does not look up a common prefix in the index', async () => {
  const { pieces, statements } = await makeStores()
  for (const options of [{}, { directory: '/none' }]) {
    await pieces.search('"green re*"', options)
    await pieces.search('"green 123*"', options)
  }
  const looked = statements.filter(text => text.includes('"name":"candidates"'))
  expect(looked.filter(text => text.includes('\\"re\\"*'))).toEqual([])
  expect(looked.filter(text => text.includes('\\"123\\"*'))).not.toEqual([])
})
