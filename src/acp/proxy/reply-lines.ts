import { errorText } from '../../core/error-text.ts'
import type { JsonObject } from '../../core/json.ts'
import { findSpans } from '../wire/json-spans.ts'
import { internalError, noSuchSession, RpcError } from '../wire/rpc-error.ts'
import { applyEdits } from '../wire/splice.ts'
import type { RpcFailure, RpcId, WireLine } from '../wire/wire-line.ts'

/** Lines that the proxy writes itself. */

export function resultLine(id: RpcId, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

export function errorLine(id: RpcId, error: RpcFailure): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

export function updateLine(sessionId: string, update: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } })
}

/** An error for a response: the agent's own, or ours. */
export function rpcFailure(error: unknown): RpcFailure {
  if (error instanceof RpcError) {
    const { code, message, data } = error
    return { code, message, ...(data === undefined ? {} : { data }) }
  }
  return { code: internalError, message: errorText(error) }
}

/** The answer for an unknown session. */
export function unknownSessionLine(id: RpcId, sessionId: string): string {
  return errorLine(id, { code: noSuchSession, message: `there is no session ${sessionId}` })
}

/** The line with this session id in its parameters; the same bytes if it already has it. */
export function withSessionId({ bytes, message }: WireLine, sessionId: string): Buffer {
  if (message?.params?.sessionId === sessionId) return bytes
  const by = JSON.stringify(sessionId)
  return applyEdits(
    bytes,
    findSpans(bytes, ['params', 'sessionId']).map(span => ({ span, by })),
  )
}
