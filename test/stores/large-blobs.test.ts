import { randomBytes } from 'node:crypto'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { CorruptError } from '../../src/core/errors.ts'
import type { Finding } from '../../src/core/finding.ts'
import { sha256Hex } from '../../src/core/hash.ts'
import { contentOf } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { mostInRow, partBytes } from '../../src/stores/programs/blob-parts.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { freshDatabase, openPool } from './postgres/database.ts'

type Row = Record<string, unknown>

/** A store whose rows can be read and changed directly. `{blobs}` in a statement is replaced by the table,
 *  `{length}` by the function for the length of bytes. */
interface Opened {
  readonly store: Store
  sql(text: string, ...values: readonly unknown[]): Promise<readonly Row[]>
}

const pool = openPool(await freshDatabase(), { max: 4 })
let tenants = 0
afterAll(() => pool.end())

const drivers: { name: 'SQLite' | 'PostgreSQL'; open(): Promise<Opened> }[] = [
  {
    name: 'SQLite',
    open: async () => {
      const db = new BetterSqlite3(':memory:')
      onTestFinished(() => void db.close())
      db.pragma('foreign_keys = OFF')
      return {
        store: await sqliteStore(db),
        sql: async (text, ...values) => {
          const named = text.replaceAll('{length}', 'length').replaceAll(/\{(\w+)\}/g, 'skein_$1')
          const statement = db.prepare(named)
          return statement.reader
            ? (statement.all(...values) as Row[])
            : [{ changes: statement.run(...values).changes }]
        },
      }
    },
  },
  {
    name: 'PostgreSQL',
    open: async () => {
      const tenant = `large ${++tenants}`
      const store = await postgresStore(pool, { tenant, indexing: 'manual' })
      return {
        store,
        sql: async (text, ...values) => {
          const named = text.replaceAll('{length}', 'octet_length').replaceAll(/\{(\w+)\}/g, 'skein.$1')
          let n = 0
          const numbered = named.replaceAll('?', () => `$${++n}`)
          const own = numbered.startsWith('INSERT')
            ? numbered.replace('(', '(tenant, ').replace('VALUES (', `VALUES ('${tenant}', `)
            : numbered.replace('WHERE', `WHERE tenant = '${tenant}' AND`)
          const { rows, rowCount } = await pool.query(own, [...values])
          return rows.length > 0 ? rows : numbered.startsWith('SELECT') ? [] : [{ changes: rowCount }]
        },
      }
    },
  },
]

const letters = (length: number) =>
  randomBytes(Math.ceil((length * 3) / 4))
    .toString('base64')
    .slice(0, length)

type Stored = Awaited<ReturnType<typeof append>>

async function append(store: Store, text: string) {
  const { conversation, branch } = await store.create()
  const { head } = await store.append(branch, null, [{ role: 'user', content: text }])
  return { id: conversation.id, head, hash: sha256Hex(text) }
}

async function found(store: Store): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  await store.verify({ onFinding: finding => findings.push(finding) })
  return findings
}

const readText = async (store: Store, head: Stored['head']) =>
  contentOf((await store.getMessages([head]))[0]!)

describe.each(drivers)('a large blob of $name', ({ name, open }) => {
  const rowOf = 'SELECT size, {length}(data) AS bytes FROM {blobs} WHERE hash = ?'
  const partsOf = 'SELECT part, {length}(data) AS bytes FROM {blob_parts} WHERE hash = ? ORDER BY part'
  const number = (value: unknown) => Number(value)

  it('has parts, and one of up to 4 MiB has none', async () => {
    const { store, sql } = await open()
    const most = await append(store, letters(mostInRow))
    const more = await append(store, letters(mostInRow + 1))
    const [row] = await sql(rowOf, most.hash)
    expect([number(row!.size), number(row!.bytes)]).toEqual([mostInRow, mostInRow])
    expect(await sql(partsOf, most.hash)).toEqual([])
    const [large] = await sql(rowOf, more.hash)
    expect([number(large!.size), number(large!.bytes)]).toEqual([mostInRow + 1, 0])
    const parts = (await sql(partsOf, more.hash)).map(({ part, bytes }) => [number(part), number(bytes)])
    expect(parts).toEqual([
      [0, partBytes],
      [1, partBytes],
      [2, partBytes],
      [3, partBytes + 1],
    ])
    expect(await found(store)).toEqual([])
  })

  it.each([
    ['a missing part', 'DELETE FROM {blob_parts} WHERE hash = ? AND part = 2', /does not match its hash/],
    ['no part at all', 'DELETE FROM {blob_parts} WHERE hash = ?', /does not match its hash/],
    [
      'a changed part',
      `UPDATE {blob_parts} SET data = 'xyz' WHERE hash = ? AND part = 1`,
      /does not match its/,
    ],
    [
      'a renumbered part',
      'UPDATE {blob_parts} SET part = 9 WHERE hash = ? AND part = 3',
      /does not match its/,
    ],
    [
      'one part more',
      `INSERT INTO {blob_parts} (hash, part, data) VALUES (?, 5, 'more')`,
      /does not match its hash/,
    ],
    [
      'one part more, behind a gap',
      `INSERT INTO {blob_parts} (hash, part, data) VALUES (?, 8, 'more')`,
      /has 1 parts too many/,
    ],
    [
      'another size',
      'UPDATE {blobs} SET size = size + 1 WHERE hash = ?',
      /is said to have \d+ bytes, and has/,
    ],
  ])('is damaged with %s', async (_, change, what) => {
    const { store, sql } = await open()
    const other = await append(store, letters(5 * partBytes))
    const { hash, head, id } = await append(store, letters(5 * partBytes + 5))
    const inBytes = name === 'SQLite' ? change.replace(/'(xyz|more)'/, "CAST('$1' AS BLOB)") : change
    const [done] = await sql(inBytes, hash)
    expect(number(done!.changes)).toBeGreaterThan(0)
    const findings = await found(store)
    expect(
      findings.map(({ severity, message, conversation }) => [severity, message, conversation]),
    ).toContainEqual(['damage', head, id])
    expect(findings.map(finding => finding.what).join()).toMatch(what)
    expect(findings.filter(({ message }) => message === other.head)).toEqual([])
  })

  it('that has lost a part cannot be read, and does not prevent reading others', async () => {
    const { store, sql } = await open()
    const { hash, head, id } = await append(store, letters(6 * partBytes))
    const { head: next } = await store.append({ conversationId: id, name: 'main' }, head, [
      { role: 'assistant', content: 'next' },
    ])
    await sql('DELETE FROM {blob_parts} WHERE hash = ? AND part = 5', hash)
    const lost = `a part of blob ${hash} is missing`
    await expect(store.getMessages([head])).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining(lost),
    })
    await expect(store.readBlob(hash)).rejects.toBeInstanceOf(CorruptError)
    const unreadable: string[] = []
    for await (const record of store.readRecords(id))
      if (record.kind === 'unreadable') unreadable.push(`${record.what}: ${record.reason}`)
    expect(unreadable).toEqual([`blob ${hash}: ${lost}`])
    expect(await readText(store, next)).toBe('next')
    // Its beginning is there.
    expect((await store.getMessages([head], { blobs: 'preview' }))[0]!.blobs[0]!.whole).toBe(false)
    await sql('DELETE FROM {blob_parts} WHERE hash = ?', hash)
    await expect(store.getMessages([head], { blobs: 'preview' })).rejects.toBeInstanceOf(CorruptError)
    expect((await store.deleteMessages([head], { recursive: true })).deleted).toBe(2)
    expect(await found(store)).toEqual([])
  })

  it('reports parts of a blob that has its bytes in its row, and of none', async () => {
    const { store, sql } = await open()
    const { hash, head } = await append(store, letters(20_000))
    const bytes = Buffer.from('part')
    await sql('INSERT INTO {blob_parts} (hash, part, data) VALUES (?, 0, ?)', hash, bytes)
    await sql('INSERT INTO {blob_parts} (hash, part, data) VALUES (?, 0, ?)', 'f'.repeat(64), bytes)
    const findings = await found(store)
    expect(findings).toContainEqual(
      expect.objectContaining({
        severity: 'damage',
        message: head,
        what: `its blob ${hash} has 1 parts besides its own bytes`,
      }),
    )
    expect(findings.map(({ what }) => what)).toContain(
      `1 parts belong to blob ${'f'.repeat(64)}, which is not there`,
    )
  })

  it('replaces parts that are left of another one with the same hash', async () => {
    const { store, sql } = await open()
    const text = letters(5 * partBytes)
    for (const part of [0, 7])
      await sql(
        'INSERT INTO {blob_parts} (hash, part, data) VALUES (?, ?, ?)',
        sha256Hex(text),
        part,
        Buffer.from('x'),
      )
    const { head } = await append(store, text)
    expect((await readText(store, head)) === text).toBe(true)
    expect(await found(store)).toEqual([])
  })

  it('leaves no part when its last message is deleted, erased or purged', async () => {
    const { store, sql } = await open()
    const count = async () =>
      number((await sql('SELECT count(*) AS count FROM {blob_parts} WHERE part >= 0'))[0]!.count)
    const removals: readonly ((made: Stored) => Promise<unknown>)[] = [
      ({ head }) => store.deleteMessages([head]),
      ({ head }) => store.eraseMessages([head], { by: 'me', reason: 'private' }),
      ({ id }) => store.trash(id).then(() => store.purge(id)),
    ]
    const kept = await append(store, letters(5 * partBytes))
    for (const remove of removals) {
      const made = await append(store, letters(5 * partBytes))
      expect(await count()).toBe(10)
      await remove(made)
      expect(await count()).toBe(5)
    }
    expect(await readText(store, kept.head)).toHaveLength(5 * partBytes)
  })
})
