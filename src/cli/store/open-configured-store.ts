import { withExpiry } from '../../config/expiry.ts'
import type { Store } from '../../core/ports.ts'
import type { OpenOptions } from '../../stores/open.ts'

/** What a command decides about its store. */
export type StoreMemory = Pick<OpenOptions, 'cacheBytes'>

/** The cache of a command that reads each page of a file once, so that the larger one of the driver would
 *  only take memory: as large as SQLite's own. PostgreSQL has none in this process. */
export function smallCache({ isFile }: { readonly isFile: boolean }): StoreMemory {
  return isFile ? { cacheBytes: 2_048_000 } : {}
}

/** Opens the store of a command. Its new conversations expire as the configuration of the folder says. */
export async function openConfiguredStore(
  target: string,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  memory: StoreMemory = {},
): Promise<Store> {
  const { openStore } = await import('../../stores/open.ts')
  return withExpiry(await openStore(target, memory), async () => {
    const { readConfig } = await import('../../config/read-config.ts')
    return readConfig(cwd, env)
  })
}
