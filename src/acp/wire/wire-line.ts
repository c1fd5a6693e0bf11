import type { JsonObject } from '../../core/json.ts'

/** A line of the wire: the bytes as they came, without the end of the line, and what they say. The bytes are
 *  what is passed on; what they say is only looked at, because parsing and printing again would change
 *  numbers, the order of keys and keys that stand twice. */
export interface WireLine {
  readonly bytes: Buffer
  /** Null if it is no JSON object: such a line is passed on as well. */
  readonly message: RpcMessage | null
}

export type RpcId = string | number | null

/** A message of JSON-RPC 2.0, as far as everybody agrees on it. A request has a method and an id, a
 *  notification only a method, a response only an id. */
export interface RpcMessage {
  readonly id?: RpcId
  readonly method?: string
  readonly params?: JsonObject
  readonly result?: unknown
  readonly error?: RpcFailure
}

/** How a peer says no. */
export interface RpcFailure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}
