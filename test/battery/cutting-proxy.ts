import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { dialPostgres, throughPort } from '../support/dial-postgres.ts'

/** Where a connection breaks, counted in messages of PostgreSQL's protocol since the first message of the
 *  first connection. */
export interface Cut {
  /** The number of the message. */
  readonly message: number
  /** `lost`: it does not arrive. `last`: it arrives, and no reply to it comes back. For the server's messages
   *  only `lost` matters, because the message before it has arrived. */
  readonly as: 'lost' | 'last'
}

/** The traffic of a connection: the sender, and the type letter of each message. */
export interface Passed {
  readonly from: 'client' | 'server'
  readonly type: string
}

/** A network between a client and a server that breaks once, at a chosen message. */
export interface CuttingProxy {
  readonly url: string
  /** The messages of all connections, up to the cut. */
  readonly passed: readonly Passed[]
  /** Whether the cut has happened. After it everything passes. */
  readonly isCut: boolean
}

/** Runs between a client and the server at `url`. Without a cut it only counts. */
export async function startCuttingProxy(url: string, cut: Cut | null): Promise<CuttingProxy> {
  const passed: Passed[] = []
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer({ noDelay: true }, client => {
    const upstream = dialPostgres(url)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}) // a cut is expected
    }
    client.on('data', relay('client', upstream))
    upstream.on('data', relay('server', client))
    // Data that was sent before the end still arrives.
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.end())

    function relay(from: Passed['from'], to: Socket): (data: Buffer) => void {
      const split = messageSplitter(from === 'client')
      return data => {
        if (from === 'server' && client.destroyed) return
        for (const { type, bytes } of split(data)) {
          const isHere = !isCut && cut?.message === passed.length
          if (isHere && cut.as === 'lost') return end()
          to.write(bytes)
          if (isHere) return end()
          if (!isCut) passed.push({ from, type })
        }
      }
    }

    /** The client sees the connection close. The server processes what it has received. */
    function end(): void {
      isCut = true
      client.removeAllListeners('data').destroy()
      upstream.removeAllListeners('data').resume().end()
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server.close(resolve))
  })
  const { port } = server.address() as { port: number }
  return {
    url: throughPort(url, port),
    passed,
    get isCut() {
      return isCut
    },
  }
}

/** Splits a stream into messages. Each begins with a letter and the length of the rest; only a client's very
 *  first message has no letter. */
function messageSplitter(isClient: boolean): (data: Buffer) => { type: string; bytes: Buffer }[] {
  let rest: Buffer = Buffer.alloc(0)
  let hasLetter = !isClient
  return data => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data])
    const messages = []
    for (;;) {
      const letters = hasLetter ? 1 : 0
      if (rest.length < letters + 4) return messages
      const end = letters + rest.readUInt32BE(letters)
      if (rest.length < end) return messages
      messages.push({
        type: hasLetter ? String.fromCharCode(rest[0]!) : 'startup',
        bytes: rest.subarray(0, end),
      })
      rest = rest.subarray(end)
      hasLetter = true
    }
  }
}
