import { createServer, connect as dial, type Socket } from 'node:net'

/** A network connection that can be cut: it forwards a port of its own to another one. */
export interface Gateway {
  readonly port: number
  /** Drops the connections and accepts none. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

/** Forwards to a port of this machine. */
export async function startGateway(target: number): Promise<Gateway> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer(client => {
    if (isCut) return void client.destroy()
    const upstream = dial(target, '127.0.0.1')
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {}) // 'close' follows
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  const drop = () => {
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      isCut = true
      drop()
    },
    mend() {
      isCut = false
    },
    async close() {
      drop()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
