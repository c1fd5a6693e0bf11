import BetterSqlite3, { type Database } from 'better-sqlite3'
import { schemaVersion } from '../migrate.ts'
import { migrations } from '../migrations.ts'
import { attempt } from './readable-rows.ts'

interface SchemaRow {
  readonly type: string
  readonly name: string
  readonly tbl_name: string
  readonly sql: string | null
}

interface FoundRow extends SchemaRow {
  readonly rowid: number
}

/** What the list of tables said. */
export interface MendedSchema {
  /** The version of Skein's tables in the file. */
  readonly version: number
  /** Whether the list was damaged. */
  readonly isMended: boolean
}

/** Corrects the list of tables. The SQL of each table is known; only its root page must be taken from the
 *  file. One changed letter there would make a whole table unreadable. Tables of an older version are read as
 *  those of the newest: columns that they lack are empty. The file has to be opened again. */
export function mendSchemaText(db: Database): MendedSchema {
  const found = attempt(
    () => db.prepare('SELECT rowid, type, name, tbl_name, sql FROM sqlite_schema').all() as FoundRow[],
  )
  if (!found) return { version: newest, isMended: false }
  const version = versionOf(db, found)
  const ofVersion = schemaAt(version)
  const known = schemaAt(newest)
  const wrong: [FoundRow, SchemaRow][] = []
  const strange: FoundRow[] = []
  for (const row of found) {
    const made = take(one => one.name === row.name) ?? take(one => one.sql !== null && one.sql === row.sql)
    if (!made) strange.push(row)
    else if (!isSame(row, made)) wrong.push([row, made])
  }
  if (strange.length === 1 && known.length === 1) wrong.push([strange[0]!, known[0]!])
  const put = db.prepare('UPDATE sqlite_schema SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE rowid = ?')
  for (const [{ rowid }, made] of wrong) {
    attempt(() => put.run(made.type, made.name, made.tbl_name, made.sql, rowid))
  }
  return { version, isMended: wrong.some(([row]) => !ofVersion.some(one => isSame(row, one))) }

  function take(isIt: (row: SchemaRow) => boolean): SchemaRow | undefined {
    const at = known.findIndex(isIt)
    return at < 0 ? undefined : known.splice(at, 1)[0]
  }
}

/** Creates an empty temporary table for each table that is missing in the list. Returns the names of those
 *  that a file of this version has: their rows can no longer be located. */
export function replaceLostTables(db: Database, version: number): readonly string[] {
  const missing = schemaAt(newest).filter(({ type, name, sql }) => {
    if (type !== 'table' || sql === null || /_search/.test(name)) return false
    return attempt(() => db.prepare(`SELECT 1 FROM main.${name}`)) === undefined
  })
  for (const { sql } of missing) db.exec(sql!.replace('CREATE TABLE', 'CREATE TEMP TABLE'))
  const had = new Set(schemaAt(version).map(({ name }) => name))
  return missing.map(({ name }) => name).filter(name => had.has(name))
}

const newest = migrations.at(-1)!.version

/** The version that the file names or, if that is damaged, the one that its tables have. The higher one: a
 *  table too many is reported as lost, and one too few would be lost without a word. */
function versionOf(db: Database, found: readonly SchemaRow[]): number {
  const named = attempt(() => schemaVersion(db)) ?? 0
  const scores = migrations.map(({ version }) => ({ version, score: scoreOf(schemaAt(version), found) }))
  const best = scores.reduce((a, b) => (b.score >= a.score ? b : a))
  return Math.max(best.version, named <= newest ? named : 0)
}

/** How well a list of tables matches a known one. */
function scoreOf(known: readonly SchemaRow[], found: readonly SchemaRow[]): number {
  const same = known.filter(one => found.some(row => isSame(row, one))).length
  return 2 * same - known.length - found.length
}

/** The schema of a new store of this version. */
function schemaAt(version: number): SchemaRow[] {
  const db = new BetterSqlite3(':memory:')
  try {
    for (const one of migrations) if (one.version <= version) db.exec(one.sql)
    return db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema').all() as SchemaRow[]
  } finally {
    db.close()
  }
}

function isSame(a: SchemaRow, b: SchemaRow): boolean {
  return a.type === b.type && a.name === b.name && a.tbl_name === b.tbl_name && a.sql === b.sql
}
