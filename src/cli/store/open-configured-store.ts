import { withExpiry } from '../../config/expiry.ts'
import type { Store } from '../../core/ports.ts'

/** Opens the store of a command. Its new conversations expire as the configuration of the folder says. */
export async function openConfiguredStore(
  target: string,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Store> {
  const { openStore } = await import('../../stores/open.ts')
  return withExpiry(await openStore(target), async () => {
    const { readConfig } = await import('../../config/read-config.ts')
    return readConfig(cwd, env)
  })
}
