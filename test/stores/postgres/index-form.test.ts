import { expect, it, onTestFinished } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import { termOf } from '../../../src/core/search/term.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { migrateDatabase } from '../../../src/stores/postgres/migrate.ts'
import { migrations } from '../../../src/stores/postgres/migrations.ts'
import { type StatementTrace, statementChannel } from '../../../src/system/debug.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { freshDatabase, openPool } from './database.ts'

const { version: newForm } = migrations.find(({ name }) => name === 'pairs of words as numbers')!
const before = migrations.filter(({ version }) => version < newForm)

it('writes the entries of many messages in the form of a single one', async () => {
  const texts = [
    'the red panda',
    'naïve CAFÉ fooBar_baz 12:30 日本語 🦊',
    "it's a back\\slash and a \0 NUL",
    ...Array.from({ length: 80 }, (_, i) => `word${i} and ${i} of the ${'long '.repeat(i)}text`),
    '…',
  ]
  const pool = openPool(await freshDatabase())
  const entriesOf = async (tenant: string, each: boolean) => {
    const store = await postgresStore(pool, { tenant, indexing: 'manual' })
    const { branch } = await store.create({ directory: '/a place' })
    let head: MessageId | null = null
    const createdAt = new Date('2026-01-01')
    for (const text of texts) {
      head = (await store.append(branch, head, [{ ...say(text), createdAt }])).head
      if (each) expect(await store.indexSearch()).toBe(1)
    }
    if (!each) expect(await store.indexSearch()).toBe(texts.length)
    const { rows } = await pool.query(
      `select seq, at, form, array(select unnest(pairs) order by 1) as pairs,
         -- Marks with the names of the tenant and of the conversation differ.
         array(select l from unnest(tsvector_to_array(tsv)) l where l !~ '^=[bc]' order by l collate "C") as words
       from skein.search where tenant = $1 order by seq`,
      [tenant],
    )
    return rows
  }
  const one = await entriesOf('one by one', true)
  expect(one).toHaveLength(texts.length)
  expect(one[0].words).toEqual(expect.arrayContaining(['=all', '=kmain', '=ruser', 'panda', 'red', 'the']))
  expect(one[0].pairs).toEqual(termOf('the red panda')!.pairs.toSorted((a, b) => a - b))
  expect(await entriesOf('at once', false)).toEqual(one)
})

it('asks the index for the pairs of a phrase, so that it returns no message with the words apart', async () => {
  await using store = await openPostgresStore(await freshDatabase(), { indexing: 'manual' })
  const { branch } = await store.create()
  const apart = Array.from({ length: 400 }, (_, i) => say(`panda ${i} red`))
  await store.append(branch, null, [say('a red panda'), ...apart])
  await store.indexSearch()
  const traces: StatementTrace[] = []
  const listen = (message: unknown) => void traces.push(message as StatementTrace)
  statementChannel.subscribe(listen)
  onTestFinished(() => void statementChannel.unsubscribe(listen))
  const candidatesOf = async (query: string, options = {}) => {
    traces.length = 0
    const { items } = await store.search(query, { limit: 2, ...options })
    const asked = traces.filter(({ statements }) => statements.some(name => /candidates$/i.test(name)))
    return { hits: items.length, read: Math.max(...asked.map(({ rows }) => rows)) }
  }
  const { conversationId } = branch
  expect(await candidatesOf('"red panda"')).toEqual({ hits: 1, read: 1 })
  // The conversation is read with it.
  expect(await candidatesOf('"red panda"', { conversations: [conversationId] })).toEqual({ hits: 1, read: 2 })
  // The control: the words alone have many candidates.
  expect((await candidatesOf('red panda')).read).toBeGreaterThan(10)
})

it('merges seldom while a caller waits for the index, and leaves few entries to read one by one', async () => {
  const url = await freshDatabase()
  const pool = openPool(url)
  await using store = await openPostgresStore(url, { indexing: 'manual' })
  let merges = 0
  const listen = (message: unknown) => {
    if ((message as StatementTrace).statements.includes('tidyIndex')) merges++
  }
  statementChannel.subscribe(listen)
  onTestFinished(() => void statementChannel.unsubscribe(listen))
  const { branch } = await store.create()
  const texts = Array.from({ length: 3_000 }, (_, i) => say(`message ${i}`))
  await store.append(branch, null, texts)
  expect(await store.indexSearch()).toBe(texts.length)
  expect(merges).toBe(1)
  // The number of pages that a merge would still have to read.
  expect((await pool.query('select skein.tidy_search()::int as pages')).rows).toEqual([{ pages: 0 }])
})

it('drops the index of an earlier version, and refuses the entries and the searches of that version', async () => {
  const pool = openPool(await freshDatabase())
  await migrateDatabase(pool, before)
  await pool.query(`
    insert into skein.search (tenant, conv, seq, at, form, tsv)
      values ('t', '00000000-0000-0000-0000-000000000001', 0, 5, 2, '''=pabc'' ''word''')`)
  await migrateDatabase(pool)
  expect((await pool.query('select * from skein.search')).rows).toEqual([])
  const entry = `insert into skein.search (tenant, conv, seq, at, form, tsv)
    values ('t', '00000000-0000-0000-0000-000000000001', 0, 5, 2, '''word''')`
  await expect(pool.query(entry)).rejects.toMatchObject({ code: '23502', column: 'pairs' })
  const search = `select * from skein.find('t', '''word''', 0, 9, null, null, 20)`
  await expect(pool.query(search)).rejects.toMatchObject({ code: '42883' })
})

it('indexes everything again after the migration', async () => {
  const url = await freshDatabase()
  const pool = openPool(url)
  await migrateDatabase(pool, before)
  await pool.query(`
    insert into skein.conversations (tenant, id, kind, prompt_policy, tool_results, metadata, tags, active_branch,
      next_seq, indexed_seq, created_at, updated_at)
    values ('t', '00000000-0000-0000-0000-000000000001', 'main', 'rebuild', '"full"', '{}', '[]', 'main', 7, 7, 1, 1)`)
  await migrateDatabase(pool)
  const { rows } = await pool.query('select next_seq, indexed_seq from skein.conversations')
  expect(rows).toEqual([{ next_seq: 7, indexed_seq: 0 }])
})
