import { once } from 'node:events'
import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { checkCount, checkMethod } from '../core/check.ts'
import type { Service } from './service.ts'

/** Where to listen. */
export interface ListenOptions {
  /** The address of an interface. Default: `127.0.0.1`. */
  readonly host?: string
  /** 0 chooses a free port. Default: 4717. */
  readonly port?: number
  /** Milliseconds until the headers of a request have arrived. Default: 15,000. */
  readonly headersMs?: number
}

/** A service that listens. */
export interface Listening {
  /** The address of the interface. */
  readonly host: string
  /** The port, also if it was chosen. */
  readonly port: number
  /** Accepts no further connections, closes the service, and ends the connections that are left. Until then,
   *  each of them ends after its next response. */
  close(): Promise<void>
}

/** The port of the service, unless another one is given. */
export const defaultPort = 4717

/** Listens with a server of Node. Idle connections end after 75 s. Rejects with the
 *  error of Node if the address cannot be used. Replaces the global `Request` and `Response` by compatible
 *  ones that are faster, as `@hono/node-server` does. */
export async function listen(service: Service, options: ListenOptions = {}): Promise<Listening> {
  checkMethod(service, 'service', 'fetch', 'a service, such as createService() returns')
  const { host = '127.0.0.1', port = defaultPort, headersMs = 15_000 } = options
  checkCount(port, 'port', 0, 65_535)
  let closed: Promise<void> | undefined
  const server = createAdaptorServer({
    fetch: (request, { incoming, outgoing }) => {
      if (closed && outgoing instanceof ServerResponse) outgoing.shouldKeepAlive = false
      return service.fetch(request, {
        address: (incoming as IncomingMessage).socket.remoteAddress ?? 'unknown',
        // An error of the body would be printed by the adapter, with its message and its stack.
        close: () => void outgoing.destroy(),
      })
    },
    serverOptions: {
      headersTimeout: headersMs,
      // Bodies of JSON have their own, shorter limit. This one is for imports.
      requestTimeout: 3_600_000,
      keepAliveTimeout: 75_000,
      maxHeaderSize: 16_384,
      connectionsCheckingInterval: Math.min(5_000, headersMs),
    },
  }) as Server
  server.listen(port, host)
  await once(server, 'listening')
  const { port: used } = server.address() as AddressInfo
  return { host, port: used, close: () => (closed ??= end(server, service)) }
}

/** Connections that stay after the service has closed get this long. */
const graceMs = 1_000

async function end(server: Server, service: Service): Promise<void> {
  const ended = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  await service.close()
  const timer = setTimeout(() => server.closeAllConnections(), graceMs)
  await ended
  clearTimeout(timer)
}
