import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { dialPostgres, throughPort } from '../../support/dial-postgres.ts'

/** A proxy to the server that can be cut like a network. `cut` sees what a client sends and decides whether
 *  the connection breaks before the server gets it, right after, or not at all. With a promise, the server
 *  gets it when the promise is fulfilled. */
export interface Proxy {
  readonly url: string
  cut: (sent: Buffer) => 'before' | 'after' | null | Promise<void>
  /** Loses everything from now on, in both directions and without closing anything: on the connections that
   *  there are, on new ones, or on all. Returns a function with which new connections work again. */
  swallow(what: 'these' | 'new' | 'all'): () => void
  /** How many connections there have been. */
  readonly connections: number
}

export async function startProxy(url: string): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const swallowed = new Set<Socket>()
  let swallowsNew = false
  let connections = 0
  const server = createServer(client => {
    const upstream = dialPostgres(url)
    connections++
    if (swallowsNew) swallowed.add(client)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}) // cuts are expected
    }
    client.on('data', sent => {
      if (swallowed.has(client)) return undefined
      const when = proxy.cut(sent)
      if (when instanceof Promise) {
        client.pause()
        return void when.then(() => {
          upstream.write(sent)
          client.resume()
        }, end)
      }
      if (when === 'before') return end()
      if (when === 'after') {
        // The server receives everything and replies. The reply is lost.
        upstream.removeAllListeners('data')
        upstream.on('data', end)
      }
      return upstream.write(sent)
    })
    upstream.on('data', answer => swallowed.has(client) || client.write(answer))
    upstream.on('close', () => swallowed.has(client) || client.destroy())
    client.on('close', () => swallowed.has(client) || upstream.destroy())

    function end(): void {
      client.destroy()
      upstream.destroy()
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server.close(resolve))
  })
  const { port } = server.address() as { port: number }
  const proxy: Proxy = {
    url: throughPort(url, port),
    cut: () => null,
    get connections() {
      return connections
    },
    swallow(what) {
      if (what !== 'new') for (const socket of sockets) swallowed.add(socket)
      swallowsNew = what !== 'these'
      return () => {
        swallowsNew = false
      }
    },
  }
  return proxy
}
