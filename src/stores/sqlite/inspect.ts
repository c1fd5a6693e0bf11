import BetterSqlite3, { type Database } from 'better-sqlite3'
import type { EngineFault } from '../engine/engine.ts'
import { isBusy } from './errors.ts'
import { migrations } from './migrations.ts'

/** More faults say nothing new about a file. */
const mostFaults = 100

/** The faults that SQLite finds in the file: pages, indexes, foreign keys, and tables that differ from the
 *  schema. It does not check the stored content. */
export function inspect(db: Database): readonly EngineFault[] {
  return [
    ...attempt('the file', () => structureFaults(db)),
    ...attempt('the foreign keys', () => keyFaults(db)),
    ...attempt('the schema', () => schemaFaults(db)),
  ]
}

function attempt(what: string, look: () => readonly EngineFault[]): readonly EngineFault[] {
  try {
    return look()
  } catch (error) {
    if (isBusy(error)) throw error
    return [{ severity: 'damage', what: `${what} cannot be checked: ${(error as Error).message}` }]
  }
}

function structureFaults(db: Database): readonly EngineFault[] {
  const lines = db.prepare(`PRAGMA integrity_check(${mostFaults})`).pluck().all() as string[]
  return lines
    .flatMap(line => line.split('\n'))
    .filter(line => line !== 'ok' && !line.startsWith('*** in database'))
    .map(line => ({ severity: isOfIndex(line) ? 'repairable' : 'damage', what: `in the file: ${line}` }))
}

/** An index can be rebuilt from its table. */
function isOfIndex(line: string): boolean {
  return /missing from index|wrong # of entries in index|inverted index/.test(line)
}

function keyFaults(db: Database): readonly EngineFault[] {
  const rows = db.prepare('PRAGMA foreign_key_check').all() as { table: string; parent: string }[]
  const ours = rows.filter(({ table }) => table.startsWith('skein_'))
  return [...Map.groupBy(ours, ({ table, parent }) => `${table} that refer to ${parent}`)].map(
    ([which, { length }]) => ({
      severity: 'damage',
      what: `${length} rows of ${which} refer to what is not there`,
    }),
  )
}

interface Made {
  readonly name: string
  readonly sql: string | null
}

/** Compares the tables and indexes with those of a new file. */
function schemaFaults(db: Database): readonly EngineFault[] {
  const found = new Map(madeIn(db).map(({ name, sql }) => [name, sql]))
  newest ??= madeAnew()
  return newest.flatMap(({ name, sql }): EngineFault[] => {
    const isIndex = sql === null || /^CREATE (UNIQUE )?INDEX/.test(sql)
    const severity = isIndex ? 'repairable' : 'damage'
    if (!found.has(name)) return [{ severity, what: `${name} is missing in the file` }]
    return found.get(name) === sql ? [] : [{ severity, what: `${name} is not as it was made` }]
  })
}

let newest: readonly Made[] | undefined

function madeAnew(): readonly Made[] {
  const db = new BetterSqlite3(':memory:')
  try {
    for (const { sql } of migrations) db.exec(sql)
    return madeIn(db)
  } finally {
    db.close()
  }
}

function madeIn(db: Database): readonly Made[] {
  return db
    .prepare(`SELECT name, sql FROM sqlite_schema WHERE name LIKE '%skein\\_%' ESCAPE '\\' ORDER BY name`)
    .safeIntegers(false)
    .all() as Made[]
}
