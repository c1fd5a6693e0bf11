import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Finding } from '../../../src/core/finding.ts'
import type { Store } from '../../../src/core/ports.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { recoverFile } from '../../../src/stores/sqlite/recover/recover-file.ts'
import { fillFile, readEverything } from '../read-everything.ts'

interface Column {
  readonly table: string
  readonly column: string
  readonly holds: 'JSON' | 'a time'
}

/** The columns that hold JSON or a time, from the schema and the rows of the file. */
function columnsOf(file: Buffer): readonly Column[] {
  const db = new BetterSqlite3(file)
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%'`)
  const columns = (tables.pluck().all() as string[]).flatMap(table =>
    (db.pragma(`table_info(${table})`) as { name: string }[]).flatMap(({ name: column }): Column[] => {
      if (/^at$|_at$|_until$/.test(column)) return [{ table, column, holds: 'a time' }]
      const values = db.prepare(`SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL`).pluck().all()
      return values.length > 0 && values.every(isJson) ? [{ table, column, holds: 'JSON' }] : []
    }),
  )
  db.close()
  return columns
}

function isJson(value: unknown): boolean {
  return typeof value === 'string' && /^["[{].*["\]}]$/s.test(value)
}

/** Copies the intact data of a file to a new store. */
async function recovered(
  damaged: BetterSqlite3.Database,
): Promise<{ store: Store; losses: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'damaged-fields-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'damaged.db')
  writeFileSync(path, damaged.serialize())
  const target = new BetterSqlite3(':memory:')
  onTestFinished(() => void target.close())
  const store = await sqliteStore(target)
  const losses: string[] = []
  const { gaps } = await recoverFile(path, store, { onLoss: ({ what }) => losses.push(what) })
  return { store, losses: [...losses, ...gaps.map(({ reason }) => reason)] }
}

const { file, everything } = await fillFile()
const columns = columnsOf(file)

const damages = columns.flatMap(({ table, column, holds }) =>
  holds === 'JSON'
    ? [
        { table, column, value: `'{"x'` },
        { table, column, value: `'17'` },
      ]
    : [{ table, column, value: '9007199254740000' }],
)

describe('a field that cannot be read', () => {
  it('is looked for in all columns with JSON or a time', () => {
    expect(columns.filter(({ holds }) => holds === 'JSON').map(({ column }) => column)).toEqual(
      expect.arrayContaining(['metadata', 'tags', 'usage', 'holder', 'erased', 'data', 'result', 'scopes']),
    )
    expect(columns.length).toBeGreaterThan(30)
  })

  it('nothing fails in the intact file', async () => {
    const db = new BetterSqlite3(file)
    const store = await sqliteStore(db)
    expect(await readEverything(store, everything)).toEqual({ corrupt: 0, other: [] })
    db.close()
  })

  it.each(damages)(
    'in the column $column of $table ($value) is named by reads, found by verify, and recovered from',
    async ({ table, column, value }) => {
      const db = new BetterSqlite3(file)
      onTestFinished(() => void db.close())
      db.pragma('ignore_check_constraints = ON')
      db.exec(`UPDATE ${table} SET ${column} = ${value} WHERE ${column} IS NOT NULL`)
      const store = await sqliteStore(db)
      const { corrupt, other } = await readEverything(store, everything)
      expect(other).toEqual([])
      const findings: Finding[] = []
      await store.verify({ onFinding: finding => findings.push(finding) })
      if (corrupt > 0) expect(findings.filter(({ severity }) => severity !== 'note')).not.toEqual([])

      const { store: copy, losses } = await recovered(db)
      expect(losses).toContain('1 access token is not copied. Make new ones: skein token create')
      // No worker holds a recovered task, so that a claim is not missed.
      const isMissed = table !== 'skein_tokens' && !(table === 'skein_tasks' && /holder|lease/.test(column))
      if (corrupt > 0 && isMissed) expect(losses.length).toBeGreaterThan(1)
      const after = await copy.verify()
      expect(after.findings).toEqual({ damage: 0, repairable: 0, note: 0 })
      // A message whose time is wrong does not match its id. Everything else of a message and of a
      // conversation is kept, and only an event is nothing without its data.
      const { conversations, messages } = await (await sqliteStore(new BetterSqlite3(file))).verify()
      const isTimeOfMessages = table === 'skein_messages' && column === 'at'
      expect(after).toMatchObject({ conversations, messages: isTimeOfMessages ? 0 : messages })
      const reread = await readEverything(copy, everything)
      expect(reread.corrupt).toBe(0)
      if (!isTimeOfMessages)
        expect(reread.other).toEqual(
          table === 'skein_events' && column === 'data' ? [expect.stringContaining('getApproval')] : [],
        )
    },
  )
})
