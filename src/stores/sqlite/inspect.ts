import BetterSqlite3, { type Database } from 'better-sqlite3'
import { createKeyedQueue, unlessAborted } from '../../core/wait.ts'
import type { EngineFault } from '../engine/engine.ts'
import { checkInChild } from './check-in-child.ts'
import { fullPathOf } from './checkpoints.ts'
import { isBusy } from './errors.ts'
import { migrations } from './migrations.ts'
import { bytesOf } from './remove-traces.ts'

/** More faults say nothing new about a file. */
const mostFaults = 100

/** SQLite checks a larger file in another process: it takes about 7 ms per megabyte, in one piece. */
const inlineBytes = 4 * 1024 * 1024

const structureQuery = `PRAGMA integrity_check(${mostFaults})`
const keyQuery = `
  SELECT "table", parent, count(*) AS count FROM pragma_foreign_key_check
  WHERE "table" LIKE 'skein\\_%' ESCAPE '\\' GROUP BY "table", parent`

/** One process per file at a time: starting one blocks this process for a moment. */
const inQueue = createKeyedQueue()

export interface InspectOptions {
  /** Whether the handle is ours: another one can be opened. */
  readonly owned: boolean
  readonly signal: AbortSignal
}

/** The faults that SQLite finds in the file: pages, indexes, foreign keys, and tables that differ from the
 *  schema. It does not check the stored content. */
export async function inspect(db: Database, options: InspectOptions): Promise<readonly EngineFault[]> {
  const run = await querier(db, options)
  return [
    ...attempt('the file', () => structureFaults(run(structureQuery))),
    ...attempt('the foreign keys', () => keyFaults(run(keyQuery))),
    ...attempt('the schema', () => schemaFaults(db)),
  ]
}

type Rows = readonly Record<string, unknown>[]

/** Runs the queries that read the whole file. */
async function querier(db: Database, { owned, signal }: InspectOptions): Promise<(query: string) => Rows> {
  const here = (query: string) => db.prepare(query).safeIntegers(false).all() as Rows
  if (!owned || db.memory || bytesOf(db) <= inlineBytes) return here
  const queries = [structureQuery, keyQuery]
  const answers = await askInTurn(fullPathOf(db), queries, signal)
  if (!answers) return here
  return query => {
    const { rows, error } = answers[queries.indexOf(query)]!
    if (error) throw Object.assign(new Error(error.message), { code: error.code })
    return rows
  }
}

/** Waits for the checks before this one, unless it is aborted. */
async function askInTurn(file: string, queries: readonly string[], signal: AbortSignal) {
  const turn = Promise.withResolvers<void>()
  const answers = inQueue(file, () => {
    turn.resolve()
    return checkInChild(file, queries, signal)
  })
  answers.catch(() => undefined)
  await unlessAborted(turn.promise, signal)
  return answers
}

function attempt(what: string, look: () => readonly EngineFault[]): readonly EngineFault[] {
  try {
    return look()
  } catch (error) {
    if (isBusy(error)) throw error
    return [{ severity: 'damage', what: `${what} cannot be checked: ${(error as Error).message}` }]
  }
}

function structureFaults(rows: Rows): readonly EngineFault[] {
  return rows
    .flatMap(({ integrity_check: lines }) => String(lines).split('\n'))
    .filter(line => line !== 'ok' && !line.startsWith('*** in database'))
    .map(line => ({ severity: isOfIndex(line) ? 'repairable' : 'damage', what: `in the file: ${line}` }))
}

/** An index can be rebuilt from its table. */
function isOfIndex(line: string): boolean {
  return /missing from index|wrong # of entries in index|inverted index/.test(line)
}

function keyFaults(rows: Rows): readonly EngineFault[] {
  return rows.map(({ table, parent, count }) => ({
    severity: 'damage',
    what: `${count} rows of ${table} that refer to ${parent} refer to what is not there`,
  }))
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
