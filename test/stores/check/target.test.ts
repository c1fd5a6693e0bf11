import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InvalidError } from '../../../src/core/errors.ts'
import { parseTarget } from '../../../src/stores/check/target.ts'
import { openStore } from '../../../src/stores/open.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'

let folder: string
let before: string
beforeAll(() => {
  before = process.cwd()
  folder = mkdtempSync(join(tmpdir(), 'target-'))
  process.chdir(folder)
})
afterAll(() => {
  process.chdir(before)
  rmSync(folder, { recursive: true, force: true })
})

describe('the name of a store', () => {
  it.each([
    ['a.db', 'a.db'],
    ['/tmp/a.db', '/tmp/a.db'],
    [':memory:', ':memory:'],
    ['./x:y', './x:y'],
    ['data/x:y', 'data/x:y'],
    ['./C:\\a.db', './C:\\a.db'],
    ['my notes: a.db', 'my notes: a.db'],
    ['me@home.db', 'me@home.db'],
    ['file:///tmp/a.db', '/tmp/a.db'],
    ['FILE:///tmp/a%20b.db', '/tmp/a b.db'],
    ['file:/tmp/a.db', '/tmp/a.db'],
    ['file://localhost/tmp/a.db', '/tmp/a.db'],
    ['file:a.db', 'a.db'],
    ['sqlite:///tmp/a.db', '/tmp/a.db'],
    ['sqlite:////tmp/a.db', '//tmp/a.db'],
    ['SQLite:a.db', 'a.db'],
    ['sqlite::memory:', ':memory:'],
  ])('is a path: %s', (target, path) => {
    expect(parseTarget(target)).toEqual({ engine: 'sqlite', path })
  })

  it.each([
    ['postgres://ada@db/app', 'postgres://ada@db/app'],
    ['POSTGRES://ada@db/App', 'postgres://ada@db/App'],
    ['PostgreSQL://ada:Secret@db/app', 'postgresql://ada:Secret@db/app'],
    ['postgres:///app?host=/run/postgresql', 'postgres:///app?host=/run/postgresql'],
    ['postgres://ada:p%2Fw@db/app', 'postgres://ada:p%2Fw@db/app'],
  ])('is a server: %s', (target, url) => {
    expect(parseTarget(target)).toEqual({ engine: 'postgres', url })
  })
})

describe('a name that is not of a store', () => {
  const secret = 'hunter2xyz'
  const refused = [
    '',
    '   ',
    ' :memory:',
    ':memory: ',
    '\ta.db',
    ':memory',
    'x:y',
    'notes: a.db',
    'mysql://x',
    'libsql://x',
    'http://x',
    'C:\\a.db',
    'a\0b',
    'sqlite:',
    'file:',
    'file://host/a.db',
    'file:///a%00b',
    'file:///a%2Fb',
    'file:a.db?mode=ro',
    'sqlite://a.db',
    'postgres:app',
    `postgress://ada:${secret}@db/app`,
    `PG://ada:${secret}@db/app`,
    `ada:${secret}@db/app`,
    `//ada:${secret}@db/app`,
    `my_role:${secret}@db/app`,
    `postgres:/ada:${secret}@db/app`,
    `postgres://ada:${secret}#1@db/app`,
    `postgres://ada:1/${secret}@db/app`,
    `postgres://ada:1#${secret}@db/app`,
    `postgres://ada:1?${secret}@db/app`,
    `postgres://ada:${secret}/@db/app`,
  ]

  it.each(refused)('is refused, without a file and without quoting it: %j (L1)', async target => {
    const opened = [openStore(target), openSqliteStore(target), openPostgresStore(target)]
    const results = await Promise.allSettled(opened)
    // Nothing of the first call may depend on the others.
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    for (const { reason } of results as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ name: 'InvalidError', code: 'invalid' })
      expect(`${reason.stack} ${JSON.stringify(reason)}`).not.toContain(secret)
    }
    expect(readdirSync(folder)).toEqual([])
  })

  it('is refused by the driver of the other engine', async () => {
    await expect(openSqliteStore(`postgres://ada:${secret}@db/app`)).rejects.toThrow('use openPostgresStore')
    await expect(openPostgresStore('a.db')).rejects.toThrow('is not a postgres:// URL')
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([undefined, null, 42, new URL('postgres://db/app')])(
    'is refused if it is not text: %s',
    async target => {
      await expect(openStore(target as unknown as string)).rejects.toThrow(InvalidError)
    },
  )
})

it('opens the file of a URL', async () => {
  for (const target of [`file://${folder}/a%20b.db`, `SQLITE:${folder}/c.db`, 'file:d.db', './e:f.db']) {
    await using store = await openStore(target)
    await store.create()
  }
  expect(readdirSync(folder).sort()).toEqual(['a b.db', 'c.db', 'd.db', 'e:f.db'])
})
