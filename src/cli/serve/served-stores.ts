import type { Config } from '../../config/config.ts'
import { withExpiry } from '../../config/expiry.ts'
import { InvalidError } from '../../core/errors.ts'
import type { ServiceStore } from '../../server/http/service-options.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import type { ToolStore } from '../model/configured-tools.ts'
import { withArchive } from '../transfer/archive.ts'

/** A store for requests and for the tools of agents. */
export type ServedStore = ServiceStore & ToolStore

/** The stores of the tenants. */
export interface ServedStores {
  /** The store of a tenant. An SQLite file has one tenant. */
  storeOf(tenant: string): Promise<ServedStore>
  /** Closes the connections of the other tenants. `main` closes the command's own store. */
  close(): Promise<void>
}

/** The tenant of tokens that name none, and of every SQLite file. */
export const defaultTenant = 'default'

/** Opens stores on demand. The tenants of a PostgreSQL share one pool. */
export async function openServedStores(context: CommandContext, config: Config): Promise<ServedStores> {
  const own = withArchive(await context.store(), config, context)
  const { target } = context.location()
  const isPostgres = /^postgres(ql)?:/.test(target)
  let opening: Promise<SharedPool> | undefined
  return {
    async storeOf(tenant) {
      if (tenant === defaultTenant) return own
      if (!isPostgres) throw new InvalidError('tenant', 'an SQLite file has one tenant')
      opening ??= openPool(target, config)
      return withArchive(await (await opening).storeOf(tenant), config, context, tenant)
    },
    close: async () => (await opening)?.close(),
  }
}

interface SharedPool {
  storeOf(tenant: string): Promise<ServedStore>
  close(): Promise<void>
}

async function openPool(url: string, config: Config): Promise<SharedPool> {
  const [{ default: pg }, { endDeadConnections, postgresStore }] = await Promise.all([
    import('pg'),
    import('../../stores/postgres/index.ts'),
  ])
  const pool = new pg.Pool({
    connectionString: url,
    fallback_application_name: 'skein serve',
    max: 20,
    connectionTimeoutMillis: 10_000,
    allowExitOnIdle: true,
    keepAlive: true,
  })
  endDeadConnections(pool)
  // A broken idle connection is replaced when the next one is needed.
  pool.on('error', () => {})
  return {
    storeOf: async tenant =>
      withExpiry(await postgresStore(pool, { tenant, schema: 'check' }), async () => config),
    close: () => pool.end(),
  }
}
