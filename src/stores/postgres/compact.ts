import { MisconfiguredError } from '../../core/errors.ts'
import type { CompactReceipt, Remnant } from '../../core/removal.ts'
import { type PooledConnection, type PostgresPool, withConnection } from './pool.ts'
import { bind, prepare } from './prepared.ts'

/** Where PostgreSQL keeps content after its deletion is committed. */
export const remnantsOfDeletion: readonly Remnant[] = ['dead_rows', 'log', 'backups']

const tables = bind(
  prepare(`
    SELECT c.relname::text AS name, pg_has_role(c.relowner, 'USAGE')::int AS owned,
      pg_total_relation_size(c.oid) AS bytes
    FROM pg_class c WHERE c.relnamespace = 'skein'::regnamespace AND c.relkind = 'r' ORDER BY c.relname`),
  {},
)

const quotedColumns = prepare(`
  SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type, l.collname::text AS collation
  FROM pg_stats s
  JOIN pg_attribute a ON a.attrelid = ('skein.' || s.tablename)::regclass AND a.attname = s.attname
  LEFT JOIN pg_collation l ON l.oid = a.attcollation
  WHERE s.schemaname = 'skein' AND s.tablename = @table::text
    AND format_type(a.atttypid, a.atttypmod) = any(ARRAY['text', 'bytea', 'tsvector'])`)

interface TableRow {
  readonly name: string
  readonly owned: number
  readonly bytes: number
}

/** Rewrites our tables one after another, those of all tenants, and replaces the planner's statistics, which
 *  quote rows. */
export async function compactTables(pool: PostgresPool): Promise<CompactReceipt> {
  return withConnection(pool, 'unnamed', async link => {
    const before = await readTables(link)
    const foreign = before.find(({ owned }) => owned !== 1)
    // The server would only warn, and skip the table.
    if (foreign)
      throw new MisconfiguredError('permission', `only the owner of skein.${foreign.name} may compact it`, {
        hint: 'Connect with the role that created the tables',
      })
    for (const { name } of before) {
      await link.execute(`VACUUM (FULL, ANALYZE) skein.${name}`)
      if (await isEmpty(link, name)) await dropStatistics(link, name)
    }
    const after = await readTables(link)
    return { bytesBefore: bytesOf(before), bytesAfter: bytesOf(after), remains: ['log', 'backups'] }
  })
}

async function isEmpty(link: PooledConnection, table: string): Promise<boolean> {
  const [result] = await link.run([bind(prepare(`SELECT 1 AS one FROM skein.${table} LIMIT 1`), {})])
  return result!.rows.length === 0
}

/** ANALYZE leaves the statistics of an empty table as they are. Setting the type of a column drops them; if
 *  it is the same type, nothing is rewritten. */
async function dropStatistics(link: PooledConnection, table: string): Promise<void> {
  const [result] = await link.run([bind(quotedColumns, { table })])
  const changes = result!.rows.map(({ name, type, collation }) => {
    const collate = collation === null ? '' : ` COLLATE "${collation}"`
    return `ALTER COLUMN ${name} TYPE ${type}${collate}`
  })
  if (changes.length > 0) await link.execute(`ALTER TABLE skein.${table} ${changes.join(', ')}`)
}

async function readTables(link: PooledConnection): Promise<readonly TableRow[]> {
  const [result] = await link.run([tables])
  return result!.rows as unknown as readonly TableRow[]
}

function bytesOf(rows: readonly TableRow[]): number {
  return rows.reduce((sum, { bytes }) => sum + bytes, 0)
}
