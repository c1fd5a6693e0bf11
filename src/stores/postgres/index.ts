/**
 * `skein/postgres`: the driver for PostgreSQL, over pg. `openPostgresStore` opens a pool and owns it;
 * `postgresStore` borrows a pool.
 */
import { checkName } from '../../core/check.ts'
import { errorText } from '../../core/error-text.ts'
import { InvalidError, MisconfiguredError, SchemaTooNewError } from '../../core/errors.ts'
import type { Store } from '../../core/ports.ts'
import type { Source } from '../../core/source.ts'
import { systemSource } from '../../system/source.ts'
import { requireNode } from '../../system/version.ts'
import { parseTarget } from '../check/target.ts'
import { withIndexing } from '../store/background-index.ts'
import { followHub } from '../store/follow-hub.ts'
import { storeWithHub } from '../store/store-over.ts'
import { postgresEngine } from './engine.ts'
import { migrateDatabase, newestVersion, schemaVersion } from './migrate.ts'
import type { PostgresPool } from './pool.ts'
import { withQuickAppend } from './quick-append.ts'
import { withQuickClaim } from './quick-claim.ts'

export type { PostgresClient, PostgresPool } from './pool.ts'

// The parts of the driver:
// - `migrations.ts`, `migrate.ts`: the tables, and how a database gets them
// - `queries/`: the SQL of every statement
// - `engine.ts`: runs programs in transactions and retries lost races
// - `pool.ts`, `batch.ts`, `prepared.ts`: connections, several statements per round trip, typed parameters
// - `queries/bulk.ts`: inserts of many rows, for records
// - `chain-rows.ts`: reads the rows of a path, and fills in the numbers that the rows of a tail leave out
// - `quick-append.ts`, `quick-claim.ts`: the ordinary append, claim and finish in one statement each
// - `compact.ts`: rewrites the tables, so that nothing deleted remains in them
// - `errors.ts`: errors of pg as ours

/** Options of every PostgreSQL store. */
export interface PostgresOptions {
  /** The clock, and the ids of new conversations. Default: those of the machine. */
  readonly source?: Source
  /** The owner of the conversations. Default: `default`. Tenants cannot see each other's data. */
  readonly tenant?: string
  /** `background` (default): the search index is written after the messages, while this process is idle.
   *  `manual`: only by `indexSearch`. */
  readonly indexing?: 'background' | 'manual'
}

/** Options of a store that opens its own pool. */
export interface OpenPostgresOptions extends PostgresOptions {
  /** Settings for pg's pool, in addition to the URL. */
  readonly pool?: {
    readonly max?: number
    readonly connectionTimeoutMillis?: number
    readonly idleTimeoutMillis?: number
    readonly ssl?: boolean | object
  }
}

/** Options of a store on a pool of the caller. */
export interface BorrowPostgresOptions extends PostgresOptions {
  /** `migrateDatabase` (default) creates or upgrades the tables. `check` only checks that they exist. */
  readonly schema?: 'migrate' | 'check'
}

/** Opens a connection pool and owns it: closing the store closes the pool.
 *
 * @example
 * ```ts
 * import { openPostgresStore } from 'skein/postgres'
 *
 * await using store = await openPostgresStore(process.env.DATABASE_URL!, { tenant: 'acme' })
 * await store.create({ key: 'cli:default' })
 * console.log(await store.countConversations()) // 1
 * ```
 */
export async function openPostgresStore(url: string, options: OpenPostgresOptions = {}): Promise<Store> {
  requireNode()
  const tenant = tenantOf(options)
  const connectionString = checkUrl(url)
  const { Pool } = await loadPg()
  const pool = new Pool({
    connectionString,
    fallback_application_name: 'skein',
    max: 10,
    // One connection stays open, so that no idle timer is set and cleared between the appends of a single
    // writer.
    min: 1,
    connectionTimeoutMillis: 10_000,
    // A store that is never closed must not keep its process alive.
    allowExitOnIdle: true,
    keepAlive: true,
    ...options.pool,
  })
  // A broken idle connection is replaced when the next one is needed.
  pool.on('error', () => {})
  try {
    await migrateDatabase(pool)
  } catch (error) {
    await pool.end()
    throw error
  }
  return over(pool, tenant, options, async () => {
    if (!pool.ending) await pool.end()
  })
}

/** A store on a pool of the caller, who also handles its errors and closes it.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { postgresStore } from 'skein/postgres'
 *
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
 * pool.on('error', error => console.error(error))
 * const [acme, other] = [await postgresStore(pool, { tenant: 'acme' }), await postgresStore(pool)]
 * await acme.create()
 * console.log(await acme.countConversations(), await other.countConversations()) // 1 0
 * await pool.end()
 * ```
 */
export async function postgresStore(pool: PostgresPool, options: BorrowPostgresOptions = {}): Promise<Store> {
  requireNode()
  const tenant = tenantOf(options)
  if (options.schema === 'check') await check(pool)
  else await migrateDatabase(pool)
  return over(pool, tenant, options, async () => {})
}

/** Returns the URL. A path of a socket is left to pg. */
function checkUrl(url: string): string {
  if (typeof url === 'string' && /^(\/(?!\/)|socket:)/.test(url)) return url
  const target = parseTarget(url, 'url')
  if (target.engine === 'postgres') return target.url
  throw new InvalidError('url', 'is not a postgres:// URL')
}

async function check(pool: PostgresPool): Promise<void> {
  const found = await schemaVersion(pool)
  if (found === newestVersion) return
  if (found > newestVersion) throw new SchemaTooNewError(found, newestVersion)
  throw new MisconfiguredError(
    'tables',
    `the database has schema version ${found}, version ${newestVersion} is needed`,
    { hint: 'Run: skein migrate --db <url>' },
  )
}

function over(
  pool: PostgresPool,
  tenant: string,
  { source = systemSource, indexing }: PostgresOptions,
  close: () => Promise<void>,
): Store {
  const engine = withIndexing(postgresEngine(pool, { tenant, source, close }), indexing)
  const hub = followHub(engine)
  const store = storeWithHub(engine, () => schemaVersion(pool), hub)
  return withQuickClaim(withQuickAppend(store, engine, hub.wake), engine)
}

function tenantOf({ tenant = 'default' }: PostgresOptions): string {
  return checkName(tenant, 'tenant')
}

async function loadPg(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (cause) {
    const reason = isMissing(cause) ? 'PostgreSQL needs the package pg' : `pg fails: ${errorText(cause)}`
    const hint = isMissing(cause) ? 'Install it: npm install pg' : 'Leave pg out of the bundle (external)'
    throw new MisconfiguredError('package', reason, { cause, hint })
  }
}

function isMissing(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}
