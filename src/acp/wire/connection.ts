import type { JsonObject } from '../../core/json.ts'
import type { WireLine } from './wire-line.ts'

/** Lines in both directions: an agent's process, or a client on our stdin and stdout. */
export interface Connection {
  /** Sends a line, without its line end. Lines arrive in order. Does not throw if the other side has stopped
   *  reading. */
  send(line: Buffer | string): void
  /** Bytes that were sent and are not taken yet. A relay stops reading from one side while this is large on
   *  the other. */
  readonly unsent: number
  /** Stops and starts reading from the other side. */
  pause(): void
  resume(): void
  /** Ends our side. Lines that were sent still arrive. */
  close(): void
}

/** Events of a connection. Called one at a time, in the order of the wire. */
export interface ConnectionHandlers {
  onLine(line: WireLine): void
  /** The other side has ended, or the connection broke, with the reason if it is known. Called once; no line
   *  follows. */
  onEnd(reason?: Error): void
  /** All sent bytes were taken, or never will be: `unsent` is 0 again. */
  onDrain?(): void
}

/** Our own requests on a connection that relays other requests, too. */
export interface Peer {
  /** Sends a request and waits for the answer. Throws RpcError, the signal's reason (after
   *  `$/cancel_request`), and ConnectionEnded if the other side ends first. */
  request(method: string, params: JsonObject, options?: { readonly signal?: AbortSignal }): Promise<unknown>
  notify(method: string, params: JsonObject): void
  /** True if the line is the answer to one of our requests. Such a line is not relayed. */
  take(line: WireLine): boolean
  /** The other side has ended: rejects all open requests. */
  end(reason: Error): void
}
