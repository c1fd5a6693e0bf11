import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Registry } from 'prom-client'
import type { ListenAddress } from '../../config/server-settings.ts'
import type { DispatchEvent } from '../../dispatch/dispatch-event.ts'
import { dispatchMetrics } from '../../dispatch/dispatch-metrics.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** The figures of a worker, at an address. */
export interface MetricsServer {
  readonly url: string
  /** Updates the figures. */
  onEvent(event: DispatchEvent): void
  close(): Promise<void>
}

/** Serves the figures of the workers of this process for Prometheus, and nothing else. They contain no
 *  contents and no names. */
export async function serveMetrics({ host, port }: ListenAddress): Promise<MetricsServer> {
  const registry = new Registry()
  const onEvent = await dispatchMetrics(registry)
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    registry.metrics().then(
      text => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', error => reject(new UsageError(`--metrics: ${error.message}`)))
    server.listen(port, host, resolve)
  })
  // The workers decide how long the process lives.
  server.unref()
  const { port: chosen } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${chosen}/metrics`,
    onEvent,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
