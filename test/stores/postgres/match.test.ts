import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matchText } from '../../../src/stores/postgres/engine.ts'
import { freshDatabase } from './database.ts'

const none = { all: [], prefixes: [], any: [], none: [] }

it('matchText asks for all words, for prefixes, for one of several, and for none of others', () => {
  const match = { all: ['one', 'two'], prefixes: ['pre'], any: [['=ruser', '=rsystem']], none: ['not'] }
  expect(matchText(match)).toBe(`'one' & 'two' & 'pre':* & ('=ruser' | '=rsystem') & !'not'`)
})

it('matchText omits empty parts', () => {
  expect(matchText({ ...none, all: ['=all'] })).toBe(`'=all'`)
})

const url = await freshDatabase()

describe('a quoted token is that token and nothing else', () => {
  const client = new Client({ connectionString: url })
  beforeAll(() => client.connect())
  afterAll(() => client.end())

  const tokens = [
    'foo_bar',
    'src/a.b-c',
    '=cabc',
    "it's",
    'back\\slash',
    'a & b',
    '!x',
    'a:*',
    '(',
    "'",
    '\\',
    '中文',
    '🦊',
    'é',
  ]
  it.each(tokens)('%s', async token => {
    const sql = 'select array_to_tsvector($1::text[]) @@ $2::tsquery as found'
    const found = async (held: string[], match: string) =>
      (await client.query(sql, [held, match])).rows[0].found
    expect(await found([token], matchText({ ...none, all: [token] }))).toBe(true)
    expect(await found([`${token}more`], matchText({ ...none, prefixes: [token] }))).toBe(true)
    expect(await found([`${token}more`, 'x'], matchText({ ...none, all: [token] }))).toBe(false)
    expect(await found([token, '=all'], matchText({ ...none, all: ['=all'], none: [token] }))).toBe(false)
    expect(await found(['other', '=all'], matchText({ ...none, all: ['=all'], none: [token] }))).toBe(true)
  })
})
