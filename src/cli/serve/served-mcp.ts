import type { Config } from '../../config/config.ts'
import type { McpEndpoint } from '../../mcp/endpoint.ts'
import type { ServiceOptions } from '../../server/http/service-options.ts'
import { type Args, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { openAskedAgent } from '../mcp/asked-agent.ts'
import { defaultTenant, type ServedStores } from './served-stores.ts'

/** The address `/mcp` of a service. */
export interface ServedMcp {
  /** Answers a request of a token. Its tenant chooses the store, its scopes the tools. */
  readonly fetch: NonNullable<ServiceOptions['mcp']>
  /** Stops running calls, and the agent. */
  close(): Promise<void>
}

/** Makes an endpoint per tenant on demand. All conversations of the tenant are its scope, as in the lists of
 *  the service. The agent of `--agent` is for the default tenant: its tools belong to one store. */
export function createServedMcp(
  args: Args,
  context: CommandContext,
  config: Config,
  stores: ServedStores,
): ServedMcp {
  const name = textOption(args, 'agent')
  const asked = name === undefined ? null : openAskedAgent(name, config, context, context.store)
  const endpoints = new Map<string, Promise<McpEndpoint>>()

  async function endpointOf(tenant: string): Promise<McpEndpoint> {
    const { createMcpEndpoint } = await import('../../mcp/endpoint.ts')
    return createMcpEndpoint({
      store: () => stores.storeOf(tenant),
      scope: { all: true },
      notes: { key: 'mcp:notes', links: { channel: 'mcp' } },
      agent: tenant === defaultTenant ? (asked?.agent ?? null) : null,
    })
  }

  return {
    async fetch(request, { tenant, scopes }) {
      const endpoint = endpoints.get(tenant) ?? endpointOf(tenant)
      endpoints.set(tenant, endpoint)
      return (await endpoint).fetch(request, { scopes })
    },
    async close() {
      await Promise.all([...endpoints.values()].map(async endpoint => (await endpoint).close()))
      await asked?.close()
    },
  }
}
