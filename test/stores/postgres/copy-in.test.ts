import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UnavailableError } from '../../../src/core/errors.ts'
import type { ConversationId } from '../../../src/core/ids.ts'
import type { NewMessage, NonEmpty } from '../../../src/core/message.ts'
import type { StoreRecord } from '../../../src/core/record.ts'
import { runBatch } from '../../../src/stores/postgres/batch.ts'
import { encodeCopy } from '../../../src/stores/postgres/binary.ts'
import { openPostgresStore, postgresStore } from '../../../src/stores/postgres/index.ts'
import { type BoundStatement, bind, prepare } from '../../../src/stores/postgres/prepared.ts'
import {
  bulkInserts,
  type ColumnType,
  copySql,
  listInsertSql,
} from '../../../src/stores/postgres/queries/bulk.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { fileOf, recordsOf } from '../../formats/native-file.ts'
import { pgbouncer, startPgbouncer } from '../../support/pgbouncer.ts'
import { samples } from '../samples.ts'
import { freshDatabase, openPool } from './database.ts'
import { startProxy } from './proxy.ts'

const url = await freshDatabase()
const client = new Client({ connectionString: url })
beforeAll(async () => {
  await (await openPostgresStore(url)).close()
  await client.connect()
  await client.query(
    'create table things (tenant text, n int unique, big bigint, words text, raw bytea, id uuid, hash bytea)',
  )
})
afterAll(() => client.end())

let tenants = 0
/** Each test has a tenant of its own. */
const options = () => ({ tenant: `tenant ${++tenants}`, indexing: 'manual' }) as const

const columns = {
  ...{ n: 'int', big: 'bigint', words: 'text', raw: 'bytea', id: 'uuid', hash: 'hex' },
} as const satisfies Record<string, ColumnType>
const statement = prepare('', 'copy')
const sql = copySql({ table: 'things', columns })
const put = (...rows: Record<string, unknown>[]): BoundStatement => ({
  statement: { ...statement, name: '', sql },
  values: [],
  input: encodeCopy('a tenant', columns, rows),
})
const thing = { big: null, words: null, raw: null, id: null, hash: null }
const count = bind(prepare('select count(*) as n from things'), {})
const plain = (text: string) => bind(prepare(text), {})

describe('a COPY in a batch', () => {
  it('stores every type and null, between other statements', async () => {
    const id = '01234567-89ab-cdef-0123-456789abcdef'
    const words = 'tab\t, new line\n, \\N, quotes "\', é, 🧵'
    const results = await runBatch(client, [
      count,
      put(
        { n: -1, big: -(2 ** 53) + 1, words, raw: Buffer.from([0, 255]), id, hash: '00ff' },
        { n: 2 ** 31 - 1, ...thing },
        { ...thing, n: 3, big: 2 ** 53 - 1, words: '' },
      ),
      count,
    ])
    expect(results.map(({ command, changes, rows }) => [command, changes, rows])).toEqual([
      ['SELECT', 0, [{ n: 0 }]],
      ['COPY', 3, []],
      ['SELECT', 0, [{ n: 3 }]],
    ])
    const stored = await runBatch(client, [plain('select * from things order by n')])
    const tenant = 'a tenant'
    const bytes = Buffer.from([0, 255])
    expect(stored[0]!.rows).toEqual([
      { tenant, n: -1, big: -(2 ** 53) + 1, words, raw: bytes, id, hash: bytes },
      { tenant, ...thing, n: 3, big: 2 ** 53 - 1, words: '' },
      { tenant, ...thing, n: 2 ** 31 - 1 },
    ])
  })

  it('fails its transaction with the error of the server, and the connection works afterwards', async () => {
    const many = Array.from({ length: 9_000 }, (_, n) => ({ ...thing, n: n + 10, words: 'x'.repeat(400) }))
    const before = await runBatch(client, [count])
    // An early row and the last one, after megabytes that the server no longer reads.
    for (const twice of [10, 9_009]) {
      const rows = [...many, { ...thing, n: twice }]
      const batch = [plain('begin'), put({ ...thing, n: twice }), put(...rows), plain('commit')]
      await expect(runBatch(client, batch)).rejects.toMatchObject({ code: '23505' })
      await expect(runBatch(client, [count])).rejects.toMatchObject({ code: '25P02' })
      await runBatch(client, [plain('rollback')])
    }
    await expect(runBatch(client, [put({ ...thing, words: 'a\0b', n: 5 })])).rejects.toMatchObject({
      code: '22021',
    })
    const missing = { ...put({ ...thing, n: 5 }) }
    const nowhere = { ...missing, statement: { ...missing.statement, sql: 'COPY nowhere FROM STDIN' } }
    await expect(runBatch(client, [nowhere])).rejects.toMatchObject({ code: '42P01' })
    expect(await runBatch(client, [count])).toEqual(before)
  })
})

describe('records of a long conversation', () => {
  let records: StoreRecord[]
  let id: ConversationId
  let truth: string
  beforeAll(async () => {
    await using source = await openSqliteStore(':memory:', { indexing: 'manual' })
    const { conversation, branch } = await source.create({ key: 'long' })
    id = conversation.id
    let { head } = branch
    for (let turn = 0; turn < 100; turn++) {
      const said: NonEmpty<NewMessage> = [
        { role: 'user', content: `${turn} \\ \t \n é 🧵` },
        { role: 'assistant', content: 'yes', ...(turn % 3 === 0 && { label: 'a label' }) },
      ]
      head = (await source.append(branch, head, said, { turn: { key: `t${turn}`, step: 0 } })).head
    }
    await source.addEvents(id, Array.from({ length: 70 }, (_, n) => ({ type: 'plan', data: { n } })) as never)
    records = await recordsOf(source, [id])
    truth = fileOf(records)
  })
  const outcomes = (written: readonly { readonly outcome: string }[]) => [
    ...new Set(written.map(({ outcome }) => outcome)),
  ]
  const batch = () => records as unknown as NonEmpty<StoreRecord>

  it('are copied completely, and a second time nothing is written', async () => {
    await using store = await openPostgresStore(url, options())
    expect(outcomes(await store.writeRecords(batch()))).toEqual(['added'])
    expect(fileOf(await recordsOf(store, [id]))).toBe(truth)
    const { version } = await store.getConversation(id)
    expect(outcomes(await store.writeRecords(batch()))).toEqual(['present'])
    expect((await store.getConversation(id)).version).toBe(version)
    expect(await store.verify()).toMatchObject({ findings: { damage: 0, repairable: 0, note: 0 } })
  })

  it('are stored once if two callers copy them at the same time', async () => {
    await using store = await openPostgresStore(url, options())
    const both = await Promise.all([store.writeRecords(batch()), store.writeRecords(batch())])
    expect(both.map(outcomes).sort()).toEqual([['added'], ['present']])
    expect(fileOf(await recordsOf(store, [id]))).toBe(truth)
  })

  it('are undone with the transaction of the application that they were written in', async () => {
    const pool = openPool(url)
    const store = await postgresStore(pool, options())
    const client = await pool.connect()
    const inside = store.within(client)
    await client.query('BEGIN')
    expect(outcomes(await inside.writeRecords(batch()))).toEqual(['added'])
    expect((await inside.getConversation(id)).messages).toBe(200)
    await client.query('ROLLBACK')
    client.release()
    expect(await store.countConversations()).toBe(0)
  })

  it.each(['before', 'after'] as const)(
    'are not stored if the connection is cut %s the server has them, and a retry stores them',
    async when => {
      const proxy = await startProxy(url)
      await using store = await openPostgresStore(proxy.url, options())
      const isMessage = ({ kind }: StoreRecord) => kind === 'message'
      await store.writeRecords(records.filter(one => !isMessage(one)) as unknown as NonEmpty<StoreRecord>)
      proxy.cut = sent => (sent.includes('PGCOPY\n') ? when : null)
      // The rows are the last part of this transaction. Nothing was committed, so the outcome is known.
      const messages = records.filter(isMessage) as unknown as NonEmpty<StoreRecord>
      await expect(store.writeRecords(messages)).rejects.toBeInstanceOf(UnavailableError)
      expect((await store.getConversation(id)).messages).toBe(0)
      proxy.cut = () => null
      expect(outcomes(await store.writeRecords(messages))).toEqual(['added'])
    },
  )

  it.skipIf(pgbouncer === undefined)('are copied behind PgBouncer in transaction mode', async () => {
    await using pooler = await startPgbouncer(url)
    await using store = await openPostgresStore(pooler.through(url), options())
    const both = await Promise.all([store.writeRecords(batch()), store.writeRecords(batch())])
    expect(both.map(outcomes).sort()).toEqual([['added'], ['present']])
    expect(fileOf(await recordsOf(store, [id]))).toBe(truth)
  })
})

describe('every bulk insert', () => {
  it.each(Object.entries(bulkInserts))('has the columns and types of its table: %s', async (name, insert) => {
    const row = { ...samples[name as 'insertEvent'] } as Record<string, unknown>
    expect(Object.keys(row).sort()).toEqual(Object.keys(insert.columns).sort())
    const lists = Object.fromEntries(Object.entries(row).map(([key, value]) => [key, [value]]))
    const input = encodeCopy('by COPY', insert.columns, [row])
    const copied = { statement: { ...statement, name: '', sql: copySql(insert) }, values: [], input }
    await runBatch(client, [bind(prepare(listInsertSql(insert)), { tenant: 'by INSERT', ...lists }), copied])
    const { rows } = await client.query(
      `select * from ${insert.table} where tenant like 'by %' order by tenant`,
    )
    expect(rows).toEqual([rows[0], { ...rows[0], tenant: 'by INSERT' }])
    expect(rows[0].tenant).toBe('by COPY')
  })
})
