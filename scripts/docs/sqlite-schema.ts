import BetterSqlite3 from 'better-sqlite3'
import { migrations } from '../../src/stores/sqlite/migrations.ts'

/** The schema of a fresh SQLite file, as SQLite reports it. */
export function describeSqlite(): string {
  const db = new BetterSqlite3(':memory:')
  for (const { sql } of migrations) db.exec(sql)
  const rows = db
    .prepare(
      `SELECT type, name, tbl_name, sql FROM sqlite_master
       WHERE sql IS NOT NULL AND name NOT GLOB 'skein_search_[cdi]*' ORDER BY tbl_name, type = 'index', name`,
    )
    .all() as { type: string; name: string; tbl_name: string; sql: string }[]
  db.close()
  const tables = rows.filter(row => row.type === 'table')
  return tables
    .map(table => {
      const indexes = rows.filter(row => row.type === 'index' && row.tbl_name === table.name)
      const texts = [table.sql, ...indexes.map(index => index.sql)]
      return `### ${table.name}\n\n\`\`\`sql\n${texts.join(';\n')};\n\`\`\`\n`
    })
    .join('\n')
}
