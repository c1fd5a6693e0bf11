import type { Server } from 'node:http'
import { type WebSocket, WebSocketServer } from 'ws'

/** The gateway of a loopback Discord: numbered events, heartbeats, resumption. */
export interface Gateway {
  /** Sends an event. Without a connection it waits for the client to resume. */
  dispatch(type: string, data: object): void
  /** Closes the connection with a code, as Discord does. */
  close(code: number): void
  /** Cuts the connection without a word. */
  cut(): void
  /** How often a client identified, and how often it resumed. */
  readonly counts: { identified: number; resumed: number }
  /** Refuses the next `identify` with this code. */
  refuseWith: number | null
  readonly isConnected: boolean
  end(): Promise<void>
}

interface Link {
  readonly id: string
  seq: number
  /** Every event, for a client that resumes. */
  readonly sent: string[]
  socket: WebSocket | null
}

export function createGateway(
  server: Server,
  welcome: (linkId: string) => readonly (readonly [type: string, data: object])[],
  token: string,
): Gateway {
  const sockets = new WebSocketServer({ server, path: '/gateway' })
  const links = new Map<string, Link>()
  let current: Link | null = null
  const counts = { identified: 0, resumed: 0 }
  const gateway: Gateway = {
    dispatch: (type, data) => current && send(current, type, data),
    close: code => current?.socket?.close(code),
    cut: () => current?.socket?.terminate(),
    counts,
    refuseWith: null,
    get isConnected() {
      return current?.socket !== null && current !== null
    },
    async end() {
      for (const client of sockets.clients) client.terminate()
      await new Promise(resolve => sockets.close(resolve))
    },
  }

  function send(link: Link, t: string, d: object): void {
    const frame = JSON.stringify({ op: 0, t, d, s: ++link.seq })
    link.sent.push(frame)
    link.socket?.send(frame)
  }

  function identify(socket: WebSocket, given: { readonly token: string }): void {
    const refusal = gateway.refuseWith ?? (given.token === token ? null : 4004)
    if (refusal !== null) {
      socket.close(refusal)
      return
    }
    counts.identified++
    const link: Link = { id: `link-${counts.identified}`, seq: 0, sent: [], socket }
    links.set(link.id, link)
    current = link
    attach(socket, link)
    for (const [type, data] of welcome(link.id)) send(link, type, data)
  }

  function resume(socket: WebSocket, given: { readonly session_id: string; readonly seq: number }): void {
    const link = links.get(given.session_id)
    if (!link) {
      socket.send(JSON.stringify({ op: 9, d: false }))
      return
    }
    counts.resumed++
    link.socket = socket
    current = link
    attach(socket, link)
    for (const frame of link.sent.slice(given.seq)) socket.send(frame)
    send(link, 'RESUMED', {})
  }

  function attach(socket: WebSocket, link: Link): void {
    socket.on('close', () => {
      if (link.socket === socket) link.socket = null
    })
  }

  sockets.on('connection', socket => {
    socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 41_250 } }))
    socket.on('message', raw => {
      const { op, d } = JSON.parse(String(raw))
      if (op === 1) socket.send(JSON.stringify({ op: 11 }))
      if (op === 2) identify(socket, d)
      if (op === 6) resume(socket, d)
    })
  })
  return gateway
}
