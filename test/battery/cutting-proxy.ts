import { createServer, connect as dial, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Where a connection breaks, counted in messages of PostgreSQL's protocol from the first of the first connection. */
export interface Cut {
  /** The number of the message. */
  readonly message: number
  /** `lost`: it does not arrive. `last`: it arrives, and nothing of what it brings about comes back. Of the server's
   *  messages only `lost` is of interest: what comes last before it has arrived. */
  readonly as: 'lost' | 'last'
}

/** What went over a connection: from whom, and the letter that says what it is. */
export interface Passed {
  readonly from: 'client' | 'server'
  readonly type: string
}

/** A network between a client and a server, that breaks once, at a message that was chosen. */
export interface CuttingProxy {
  readonly url: string
  /** The messages of all connections, up to the cut. */
  readonly passed: readonly Passed[]
  /** Whether the cut has come. After it everything passes. */
  readonly isCut: boolean
}

/** Stands between a client and the server at `url`. Without a cut it only counts. */
export async function startCuttingProxy(url: string, cut: Cut | null): Promise<CuttingProxy> {
  const target = new URL(url)
  const passed: Passed[] = []
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer({ noDelay: true }, client => {
    const upstream = dial(`${target.searchParams.get('host')}/.s.PGSQL.5432`)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}) // a cut is no news
    }
    client.on('data', relay('client', upstream))
    upstream.on('data', relay('server', client))
    // What was sent before the end still arrives.
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

    /** The client hears that the connection is gone. The server has what it has got, and does it. */
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
    url: `postgresql://${target.username}@127.0.0.1:${port}${target.pathname}`,
    passed,
    get isCut() {
      return isCut
    },
  }
}

/** Cuts a stream into messages. Each begins with a letter and the length of the rest; only the very first of a client
 *  has no letter. */
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
