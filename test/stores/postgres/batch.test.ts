import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runBatch } from '../../../src/stores/postgres/batch.ts'
import { bind, prepare } from '../../../src/stores/postgres/prepared.ts'
import { freshDatabase } from './database.ts'

const url = await freshDatabase()
const client = new Client({ connectionString: url })
beforeAll(async () => {
  await client.connect()
  await client.query('create table things (id int primary key, name text)')
})
afterAll(() => client.end())

const insert = prepare('insert into things (id, name) values (@id::int, @name::text)')
const count = bind(prepare('select count(*) as n from things'), {})
const put = (id: number, name = 'x') => bind(insert, { id, name })

describe('a batch', () => {
  it('returns a result for each statement, in order', async () => {
    const update = prepare('update things set name = @name::text where id >= @id::int')
    const results = await runBatch(client, [put(1), put(2), count, bind(update, { id: 1, name: 'y' })])
    expect(results.map(({ command, changes, rows }) => [command, changes, rows])).toEqual([
      ['INSERT', 1, []],
      ['INSERT', 1, []],
      ['SELECT', 0, [{ n: 2 }]],
      ['UPDATE', 2, []],
    ])
  })

  it('is one transaction, which an error undoes', async () => {
    const before = await runBatch(client, [count])
    await expect(runBatch(client, [put(3), put(1), put(4)])).rejects.toMatchObject({ code: '23505' })
    expect(await runBatch(client, [count])).toEqual(before)
  })

  it('works after an error, also with statements that were parsed before it', async () => {
    const fresh = prepare('select name from things where id = @id::int')
    const failing = runBatch(client, [bind(fresh, { id: 1 }), put(1), bind(prepare('select 1 as one'), {})])
    await expect(failing).rejects.toMatchObject({ code: '23505' })
    const results = await runBatch(client, [bind(fresh, { id: 1 }), bind(prepare('select 1 as one'), {})])
    expect(results.map(result => result.rows)).toEqual([[{ name: 'y' }], [{ one: 1 }]])
  })

  it('leaves a transaction block in the state of its last statement', async () => {
    await runBatch(client, [bind(prepare('begin'), {}), put(5)])
    const other = new Client({ connectionString: url })
    await other.connect()
    expect((await other.query('select id from things where id = 5')).rowCount).toBe(0)
    const results = await runBatch(client, [bind(prepare('commit'), {})])
    expect(results[0]!.command).toBe('COMMIT')
    expect((await other.query('select id from things where id = 5')).rowCount).toBe(1)
    await other.end()
  })

  it("returns the server's reply to a failed commit", async () => {
    await runBatch(client, [bind(prepare('begin'), {})])
    await expect(runBatch(client, [put(1)])).rejects.toMatchObject({ code: '23505' })
    expect((await runBatch(client, [bind(prepare('commit'), {})]))[0]!.command).toBe('ROLLBACK')
  })

  it('returns numbers as numbers, bytes as bytes, and everything else as text', async () => {
    const text = `select 9007199254740991::bigint as big, 7::int as int, 0.1::float8 + 0.2 as float,
      '\\x00ff10'::bytea as bytes, 'é' as text, null::text as nothing, '{"a": 1}'::json as json, ''::bytea as empty`
    const [result] = await runBatch(client, [bind(prepare(text), {})])
    expect(result!.rows).toEqual([
      {
        ...{ big: 9_007_199_254_740_991, int: 7, float: 0.1 + 0.2, bytes: Buffer.from([0, 255, 16]) },
        ...{ text: 'é', nothing: null, json: '{"a": 1}', empty: Buffer.alloc(0) },
      },
    ])
  })

  it('sends lists as arrays or as JSON, as the statement declares', async () => {
    const names = ['a"b', 'c\\d', 'e,f', '{}', '', 'NULL', "it's", 'é\n']
    const arrays = prepare(
      'select to_json(@names::text[])::text as names, to_json(@seqs::int[])::text as seqs',
    )
    const [first] = await runBatch(client, [bind(arrays, { names, seqs: [1, 2] })])
    expect(JSON.parse(first!.rows[0]!.names as string)).toEqual(names)
    expect(JSON.parse(first!.rows[0]!.seqs as string)).toEqual([1, 2])
    const empty = await runBatch(client, [bind(arrays, { names: [], seqs: [] })])
    expect(empty[0]!.rows).toEqual([{ names: '[]', seqs: '[]' }])
    const numbers = [0, 1, -1, 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1]
    const others = prepare(
      'select to_json(@big::bigint[])::text as big, to_json(@bytes::bytea[])::text as bytes',
    )
    const [third] = await runBatch(client, [
      bind(others, { big: numbers, bytes: [Buffer.from([0, 255]), null] }),
    ])
    expect(JSON.parse(third!.rows[0]!.big as string)).toEqual(numbers)
    expect(third!.rows[0]!.bytes).toBe('["\\\\x00ff",null]')
    const json = prepare('select * from json_to_recordset(@list::json) as w(lo int, hi text)')
    const [second] = await runBatch(client, [bind(json, { list: [{ lo: 1, hi: 'x' }] })])
    expect(second!.rows).toEqual([{ lo: 1, hi: 'x' }])
    expect((await runBatch(client, [bind(json, { list: [] })]))[0]!.rows).toEqual([])
  })

  it('refuses a missing parameter', () => {
    expect(() => bind(insert, { id: 1 })).toThrow('parameter name is missing')
  })

  it('runs next to other queries on the same client', async () => {
    const [batch, plain] = await Promise.all([
      runBatch(client, [count, count]),
      client.query('select 2 as two'),
    ])
    expect(batch).toHaveLength(2)
    expect(plain.rows).toEqual([{ two: 2 }])
  })
})
