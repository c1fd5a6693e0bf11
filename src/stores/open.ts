import { checkKnownFields } from '../core/check.ts'
// `stores` is where conversations are stored: two drivers over shared programs (docs/architecture.md).
// - `engine/`: the lower layer: what a program, a statement and a row is. Start with `engine/engine.ts`
// - `programs/`: the operations of a store, once for all engines; `append.ts` is the most important one
// - `check/`: checks of input and of records
// - `store/`: the `Store` port over any engine; `store-with-hub.ts` checks the input and selects the program
// - `sqlite/`, `postgres/`: an engine each, with its SQL. They do not know each other
// May import core and system. Only `src/index.ts` and `cli` import this folder.

import { InvalidError } from '../core/errors.ts'
import type { Store } from '../core/ports.ts'
import type { Source } from '../core/source.ts'
import { requireNode } from '../system/version.ts'
import { parseTarget } from './check/target.ts'

/** Options of `openStore`. */
export interface OpenOptions {
  /** The clock, and the ids of new conversations. Default: those of the machine. */
  readonly source?: Source
  /** SQLite only. See `SqliteOptions`. */
  readonly durability?: 'full' | 'normal'
  /** PostgreSQL only: the owner of the conversations. */
  readonly tenant?: string
  /** When the search index is written. See `SqliteOptions` and `PostgresOptions`. Default: `background`. */
  readonly indexing?: 'background' | 'manual'
  /** How long a process that does not renew its turn keeps the branch, in milliseconds, from 5,000 to 60,000.
   *  Default: 30,000. Claims of dispatches always last 30 s. */
  readonly leaseMs?: number
  /** SQLite only: most memory for pages of the file. See `SqliteOptions`. Default: 16,384,000. */
  readonly cacheBytes?: number
}

const openFields: Readonly<Record<keyof OpenOptions, true>> = {
  source: true,
  durability: true,
  tenant: true,
  indexing: true,
  leaseMs: true,
  cacheBytes: true,
}

/** Opens a store and owns it: the caller must call `close()`. The target is the path of an SQLite file
 *  (created if missing), `:memory:`, a `file:` or `sqlite:` URL, or a `postgres://` URL. Other URLs are
 *  refused with InvalidError. Throws MisconfiguredError if Node is older than 22.14.
 *
 * @example
 * ```ts
 * import { openStore, pathOf, textOf } from 'skein'
 *
 * await using store = await openStore(':memory:') // or a file, or postgres://…
 * const { branch } = await store.findOrCreate('cli:default')
 * const { head } = await store.append(branch, branch.head, [
 *   { role: 'user', content: 'Why is the build red?' },
 *   { role: 'assistant', content: 'A test fails.' },
 * ])
 * for (const message of await pathOf(store, head)) console.log(`${message.role}: ${textOf(message)}`)
 * // user: Why is the build red?
 * // assistant: A test fails.
 * ```
 */
export async function openStore(target: string, options: OpenOptions = {}): Promise<Store> {
  requireNode()
  const found = parseTarget(target)
  checkKnownFields(options, 'options', openFields)
  // Loaded lazily, so that neither driver costs the users of the other anything.
  const { source, durability, tenant, indexing, leaseMs, cacheBytes } = options
  const shared = {
    ...(source && { source }),
    ...(indexing && { indexing }),
    ...(leaseMs !== undefined && { leaseMs }),
  }
  if (found.engine === 'postgres') {
    if (durability !== undefined)
      throw new InvalidError('durability', 'is for SQLite: PostgreSQL has its own settings')
    if (cacheBytes !== undefined)
      throw new InvalidError('cacheBytes', 'is for SQLite: PostgreSQL has its own cache')
    const { openPostgresStore } = await import('./postgres/index.ts')
    return openPostgresStore(found.url, {
      ...shared,
      ...(tenant !== undefined && { tenant }),
    })
  }
  if (tenant !== undefined)
    throw new InvalidError('tenant', 'is for PostgreSQL: an SQLite file has one tenant')
  const { openSqliteStore } = await import('./sqlite/index.ts')
  return openSqliteStore(found.path, {
    ...shared,
    ...(durability && { durability }),
    ...(cacheBytes !== undefined && { cacheBytes }),
  })
}
