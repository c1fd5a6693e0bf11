import type { JsonObject } from '../../core/json.ts'

/** A line of the wire: its bytes, without the line end, and the parsed message. The bytes are relayed; the
 *  message is only read, because parsing and printing would change numbers, the order of keys and duplicate
 *  keys. */
export interface WireLine {
  readonly bytes: Buffer
  /** Null if the line is not a JSON object. Such a line is relayed, too. */
  readonly message: RpcMessage | null
}

export type RpcId = string | number | null

/** A message of JSON-RPC 2.0, as far as all agents agree on it. A request has a method and an id, a
 *  notification only a method, a response only an id. */
export interface RpcMessage {
  readonly id?: RpcId
  readonly method?: string
  readonly params?: JsonObject
  readonly result?: unknown
  readonly error?: RpcFailure
}

/** The error of a response. */
export interface RpcFailure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}
