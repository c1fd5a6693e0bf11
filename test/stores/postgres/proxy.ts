import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { dialPostgres, throughPort } from '../../support/dial-postgres.ts'

/** A proxy to the server that can be cut like a network. `cut` sees what a client sends and decides whether
 *  the connection breaks before the server gets it, right after, or not at all. With a promise, the server
 *  gets it when the promise is fulfilled. */
export interface Proxy {
  readonly url: string
  cut: (sent: Buffer) => 'before' | 'after' | null | Promise<void>
}

export async function startProxy(url: string): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = dialPostgres(url)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}) // cuts are expected
    }
    client.on('data', sent => {
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
    upstream.on('data', answer => client.write(answer))
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())

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
  }
  return proxy
}
