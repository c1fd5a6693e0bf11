/**
 * `skein/postgres`: the driver for PostgreSQL, over pg. `openPostgresStore` opens a pool and owns it;
 * `postgresStore` borrows a pool.
 */
import { checkMethod, checkName } from '../../core/check.ts'
import { errorText } from '../../core/error-text.ts'
import { InvalidError, MisconfiguredError, SchemaTooNewError } from '../../core/errors.ts'
import type { Store } from '../../core/ports.ts'
import type { Source } from '../../core/source.ts'
import { systemSource } from '../../system/source.ts'
import { requireNode } from '../../system/version.ts'
import { checkLease } from '../check/lease.ts'
import { parseTarget } from '../check/target.ts'
import { withIndexing } from '../store/background-index.ts'
import { hubOnDemand } from '../store/hub-on-demand.ts'
import { storeWithHub } from '../store/store-with-hub.ts'
import type { Naming } from './batch.ts'
import { endDeadConnections } from './dead-connections.ts'
import { type PostgresEngine, postgresEngine } from './engine.ts'
import { joinedEngine } from './joined-engine.ts'
import { migrateDatabase, newestVersion, schemaVersion } from './migrate.ts'
import type { PostgresClient, PostgresPool } from './pool.ts'
import { withQuickAppend } from './quick-append.ts'
import { withQuickClaim } from './quick-claim.ts'

export { type DeadConnectionOptions, endDeadConnections } from './dead-connections.ts'
export type { EventfulPool } from './outage.ts'
export type { PostgresClient, PostgresPool } from './pool.ts'

/** A store on PostgreSQL. */
export interface PostgresStore extends Store {
  /** The same store inside the transaction that the application has begun on a client. Each call is all or
   *  nothing, and an error leaves the transaction usable. Nothing is stored until the application commits: an
   *  append returns `committed: false`, and a rollback removes it. The store never commits, rolls back or
   *  releases the client. Calls on one client run one after the other.
   *
   * @example
   * ```ts
   * import pg from 'pg'
   * import { postgresStore } from 'skein/postgres'
   *
   * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
   * const store = await postgresStore(pool)
   * const { branch } = await store.create()
   *
   * const client = await pool.connect()
   * await client.query('BEGIN')
   * await client.query('CREATE TABLE orders (name text)')
   * const inside = store.within(client)
   * await inside.append(branch, null, [{ role: 'user', content: 'One pizza, please.' }])
   * await client.query('ROLLBACK')
   * client.release()
   * console.log((await store.getConversation(branch.conversationId)).messages) // 0
   * await pool.end()
   * ```
   */
  within(client: Pick<PostgresClient, 'query'>): Store
}

// The parts of the driver:
// - `migrations.ts`, `migrate.ts`: the tables, and how a database gets them
// - `queries/`: the SQL of every statement
// - `engine.ts`: runs programs in transactions and retries lost races
// - `joined-engine.ts`: runs them inside a transaction of the application
// - `run-program.ts`: sends the statements of a program
// - `pool.ts`, `batch.ts`, `prepared.ts`: connections, several statements per round trip, typed parameters
// - `dead-connections.ts`, `outage.ts`: connections that do not answer any more, and a server that is away
// - `queries/bulk.ts`, `copy-in.ts`, `binary.ts`: inserts of many rows, for records
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
  /** `auto` (default): the server parses each statement once per connection, also behind a pooler in
   *  transaction mode. `off`: it parses each statement each time, which doubles the time of short ones. */
  readonly prepared?: 'auto' | 'off'
  /** How long a process that does not renew its turn keeps the branch, from 5,000 to 60,000, by the clock of
   *  the server. Default: 30,000. After a crash that other processes cannot see, they wait this long. */
  readonly leaseMs?: number
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

/** Opens a connection pool and owns it: closing the store closes the pool. The URL may contain `prepared`,
 *  as in `postgres://host/database?prepared=off`; see `PostgresOptions`.
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
export async function openPostgresStore(
  url: string,
  options: OpenPostgresOptions = {},
): Promise<PostgresStore> {
  requireNode()
  const tenant = tenantOf(options)
  const { connectionString, prepared } = readUrl(url, options.prepared)
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
  endDeadConnections(pool)
  // A broken idle connection is replaced when the next one is needed.
  pool.on('error', () => {})
  // A connection may break in the moment in which the pool hands it out, before the store listens to it.
  pool.on('connect', client => client.on('error', () => {}))
  try {
    await migrateDatabase(pool)
  } catch (error) {
    await pool.end()
    throw error
  }
  return over(pool, { tenant, prepared }, options, async () => {
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
export async function postgresStore(
  pool: PostgresPool,
  options: BorrowPostgresOptions = {},
): Promise<PostgresStore> {
  requireNode()
  checkMethod(pool, 'pool', 'connect', 'a pool of pg')
  const tenant = tenantOf(options)
  const prepared = checkPrepared(options.prepared ?? 'auto', 'prepared')
  if (options.schema === 'check') await check(pool)
  else await migrateDatabase(pool)
  return over(pool, { tenant, prepared }, options, async () => {})
}

type Prepared = NonNullable<PostgresOptions['prepared']>

interface OpenUrl {
  readonly connectionString: string
  readonly prepared: Prepared
}

/** Checks the URL, and takes out the parameter that is not pg's. A path of a socket is left to pg. An option
 *  overrides the URL. */
function readUrl(url: string, option: Prepared | undefined): OpenUrl {
  if (typeof url === 'string' && /^(\/(?!\/)|socket:)/.test(url))
    return { connectionString: url, prepared: checkPrepared(option ?? 'auto', 'prepared') }
  const target = parseTarget(url, 'url')
  if (target.engine !== 'postgres') throw new InvalidError('url', 'is not a postgres:// URL')
  const [address = '', query = ''] = target.url.split(/\?(.*)/s)
  const parameters = query.split('&')
  const own = parameters.filter(one => one.startsWith('prepared='))
  const others = parameters.filter(one => !own.includes(one)).join('&')
  const named = own.at(-1)?.slice('prepared='.length)
  return {
    connectionString: others === '' ? address : `${address}?${others}`,
    prepared: option ? checkPrepared(option, 'prepared') : checkPrepared(named ?? 'auto', 'url: prepared'),
  }
}

function checkPrepared(value: string, field: string): Prepared {
  if (value === 'auto' || value === 'off') return value
  throw new InvalidError(field, 'is neither auto nor off')
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
  { tenant, prepared }: { readonly tenant: string; readonly prepared: Prepared },
  { source = systemSource, indexing, leaseMs }: PostgresOptions,
  close: () => Promise<void>,
): PostgresStore {
  const naming: Naming = prepared === 'off' ? 'unnamed' : 'named'
  const shared = { tenant, naming, source, leaseMs: checkLease(leaseMs) }
  const engine = withIndexing(postgresEngine(pool, { ...shared, close }), indexing)
  const hub = hubOnDemand(engine)
  const version = () => schemaVersion(pool)
  const quick = (on: PostgresEngine) =>
    withQuickClaim(withQuickAppend(storeWithHub(on, version, hub), on, hub.wake), on)
  return { ...quick(engine), within: client => quick(joinedEngine(client, shared)) }
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
