import BetterSqlite3, { type Database } from 'better-sqlite3'
import { Pool } from 'pg'
import type { Store } from '../../src/core/ports.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'

/** A store that counts the rows of messages and turns that it visits, matching or not. */
export interface RowMeter {
  readonly store: Store
  /** Rows that the engine visited while `work` ran. */
  rowsOf(work: () => Promise<unknown>): Promise<number>
  /** Rows that one statement visits; `$1` is the conversation. For calibration. */
  rowsOfText(condition: string, conversationId: string): Promise<number>
  close(): Promise<void>
}

/** A column that no statement binds to a constant, so SQLite evaluates it for every row. */
const columns = { messages: 'seq', turns: 'first', conversations: 'updated_at' }

/** A table whose rows are counted. */
export type MeteredTable = keyof typeof columns

const usual: readonly MeteredTable[] = ['messages', 'turns']

/** `FROM table [alias] [INDEXED BY index] WHERE …`, or the same with JOIN and ON. */
const reading =
  /\b(FROM|JOIN)\s+skein_(messages|turns|conversations)(?:\s+(?!WHERE\b|ON\b|INDEXED\b)(\w+))?(\s+INDEXED BY \w+)?\s+(WHERE|ON)\b/g

/** Adds a counting condition that is always true. It comes first and needs only indexed columns, so it is
 *  evaluated before another condition can reject the row. */
export function countRows(sql: string, tables = usual): string {
  return sql.replace(
    reading,
    (all, from, table: MeteredTable, alias: string | undefined, index = '', where) => {
      if (!tables.includes(table)) return all
      const column = `${alias ?? `skein_${table}`}.${columns[table]}`
      return `${from} skein_${table} ${alias ?? ''}${index} ${where} seen(${column}) AND`
    },
  )
}

export async function meterSqlite(tables = usual): Promise<RowMeter & { readonly db: Database }> {
  const db = new BetterSqlite3(':memory:')
  let seen = 0
  db.function('seen', { varargs: true }, () => ++seen)
  const prepare = db.prepare.bind(db)
  db.prepare = ((sql: string) => prepare(countRows(sql, tables))) as typeof db.prepare
  const rowsOf = async (work: () => Promise<unknown>) => {
    seen = 0
    await work()
    return seen
  }
  return {
    db,
    store: await sqliteStore(db, { indexing: 'manual' }),
    rowsOf,
    rowsOfText: (condition, id) =>
      rowsOf(async () => {
        const conv = `(SELECT c.c FROM skein_conversations c WHERE c.id = ?)`
        db.prepare(`SELECT id FROM skein_messages WHERE conv = ${conv} AND ${condition}`).all(id)
      }),
    close: async () => {
      db.close()
    },
  }
}

/** PostgreSQL's own counters: the rows that scans have read from tables and indexes, for the statements as
 *  they really ran, with the plans that prepared statements get after a while. */
export async function meterPostgres(
  url: string,
  plans: 'force_generic_plan' | 'force_custom_plan' = 'force_generic_plan',
  tables = usual,
): Promise<RowMeter> {
  const pool = new Pool({ connectionString: url, max: 1, options: `-c plan_cache_mode=${plans}` })
  pool.on('error', () => {})
  const rowsOf = async (work: () => Promise<unknown>) => {
    const before = await readSoFar(pool, tables)
    await work()
    return (await readSoFar(pool, tables)) - before
  }
  const store = await postgresStore(pool, { indexing: 'manual' })
  // With new statistics, the server reads a table of a hundred rows as a whole. When it collects them in the
  // background depends on the machine.
  for (const table of tables) await pool.query(`ALTER TABLE skein.${table} SET (autovacuum_enabled = false)`)
  return {
    store,
    rowsOf,
    rowsOfText: (condition, id) =>
      rowsOf(() =>
        pool.query(
          `SELECT id FROM skein.messages WHERE tenant = 'default' AND conv = $1::uuid AND ${condition}`,
          [id],
        ),
      ),
    close: () => pool.end(),
  }
}

async function readSoFar(pool: Pool, tables: readonly MeteredTable[]): Promise<number> {
  // A connection reports its counters occasionally; this statement makes it report at once.
  await pool.query('SELECT pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ rows: string }>(
    `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = ANY($1))
      + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = ANY($1)) AS rows`,
    [tables],
  )
  return Number(rows[0]!.rows)
}
