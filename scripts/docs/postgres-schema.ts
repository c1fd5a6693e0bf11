import pg from 'pg'
import { migrateDatabase } from '../../src/stores/postgres/migrate.ts'
import { startPostgres } from '../../test/support/postgres.ts'

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly fallback: string | null
}

/** The schema of a fresh PostgreSQL database, as its catalogue reports it. */
export async function describePostgres(): Promise<string> {
  const server = await startPostgres()
  const pool = new pg.Pool({ connectionString: server.url })
  // A pool ends before its connections do, so the server may close them first.
  pool.on('error', () => {})
  try {
    await migrateDatabase(pool)
    const columns = await pool.query<Column>(`
      SELECT c.relname AS "table", a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
        a.attnotnull AS required, pg_get_expr(d.adbin, d.adrelid) AS fallback
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE c.relnamespace = 'skein'::regnamespace AND c.relkind = 'r' ORDER BY c.relname, a.attnum`)
    const indexes = await pool.query<{ table: string; text: string }>(`
      SELECT tablename AS "table", indexdef AS text FROM pg_indexes WHERE schemaname = 'skein' ORDER BY indexname`)
    const functions = await pool.query<{ text: string }>(`
      SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE pronamespace = 'skein'::regnamespace ORDER BY proname`)
    const tables = [...new Set(columns.rows.map(column => column.table))]
    const texts = tables.map(table => {
      const own = columns.rows.filter(column => column.table === table)
      const lines = [
        ...own.map(lineOf),
        ...indexes.rows.filter(index => index.table === table).map(index => index.text),
      ]
      return `### skein.${table}\n\n\`\`\`sql\n${lines.join('\n')}\n\`\`\`\n`
    })
    if (functions.rows.length > 0) {
      texts.push(
        `### Functions\n\n\`\`\`sql\n${functions.rows.map(row => row.text.trimEnd()).join('\n\n')}\n\`\`\`\n`,
      )
    }
    return texts.join('\n')
  } finally {
    await pool.end()
    await server.stop()
  }
}

function lineOf({ name, type, required, fallback }: Column): string {
  return [name, type, required ? 'NOT NULL' : '', fallback === null ? '' : `DEFAULT ${fallback}`]
    .filter(Boolean)
    .join(' ')
}
