import BetterSqlite3, { type Database } from 'better-sqlite3'
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

/** Corrects the list of tables. The SQL of each table is known; only its root page must be taken from the
 *  file. One changed letter there would make a whole table unreadable. Returns true if something was
 *  corrected: then the file has to be opened again. */
export function mendSchemaText(db: Database): boolean {
  const found = attempt(
    () => db.prepare('SELECT rowid, type, name, tbl_name, sql FROM sqlite_schema').all() as FoundRow[],
  )
  if (!found) return false
  const known = knownSchema()
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
  return wrong.length > 0

  function take(isIt: (row: SchemaRow) => boolean): SchemaRow | undefined {
    const at = known.findIndex(isIt)
    return at < 0 ? undefined : known.splice(at, 1)[0]
  }
}

/** Creates an empty temporary table for each table that is missing in the list. Their rows can no longer be
 *  located. Returns their names. */
export function replaceLostTables(db: Database): readonly string[] {
  const lost = knownSchema().filter(({ type, name, sql }) => {
    if (type !== 'table' || sql === null || /_search/.test(name)) return false
    return attempt(() => db.prepare(`SELECT 1 FROM main.${name}`)) === undefined
  })
  for (const { sql } of lost) db.exec(sql!.replace('CREATE TABLE', 'CREATE TEMP TABLE'))
  return lost.map(({ name }) => name)
}

/** The schema of a new store. */
function knownSchema(): SchemaRow[] {
  const db = new BetterSqlite3(':memory:')
  try {
    for (const { sql } of migrations) db.exec(sql)
    return db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema').all() as SchemaRow[]
  } finally {
    db.close()
  }
}

function isSame(a: SchemaRow, b: SchemaRow): boolean {
  return a.type === b.type && a.name === b.name && a.tbl_name === b.tbl_name && a.sql === b.sql
}
