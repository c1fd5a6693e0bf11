import type { JsonObject } from '../../core/json.ts'
import type { WireLine } from './wire-line.ts'

/** Lines in both directions: an agent's process, or a client on our own stdin and stdout. */
export interface Connection {
  /** Sends a line, without its end. Lines arrive in the order they are sent; nothing is thrown if nobody
   *  reads. */
  send(line: Buffer | string): void
  /** What was sent and has not been taken yet, in bytes: whoever relays stops reading while this is large. */
  readonly unsent: number
  /** Stops and starts reading from the other side. */
  pause(): void
  resume(): void
  /** Ends our side; what was sent still arrives. */
  close(): void
}

/** What happens on a connection. Called one at a time, in the order of the wire. */
export interface ConnectionHandlers {
  onLine(line: WireLine): void
  /** The other side has ended, or broke, and then there may be a reason. Called once; no line comes after
   *  it. */
  onEnd(reason?: Error): void
  /** What was sent has been taken, or never will be: `unsent` is 0 again. */
  onDrain?(): void
}

/** Requests of our own on a connection that others use too. */
export interface Peer {
  /** Asks and waits for the answer. Throws RpcError, the signal's reason (after `$/cancel_request`), and
   *  ConnectionEnded if the other side ends first. */
  request(method: string, params: JsonObject, options?: { readonly signal?: AbortSignal }): Promise<unknown>
  notify(method: string, params: JsonObject): void
  /** True if the line was the answer to one of our requests: it is nobody else's. */
  take(line: WireLine): boolean
  /** Nobody will answer any more. */
  end(reason: Error): void
}
