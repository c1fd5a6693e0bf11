import type { JsonObject } from '../../core/json.ts'
import { errorText } from '../error-text.ts'
import type { RpcFailure, RpcId } from '../wire/line.ts'
import { internalError, noSuchSession, RpcError } from '../wire/rpc-error.ts'

/** The lines that we say ourselves. */

export function resultLine(id: RpcId, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

export function errorLine(id: RpcId, error: RpcFailure): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

export function updateLine(sessionId: string, update: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } })
}

/** An error as a peer is told it: the agent's own, or ours. */
export function failureOf(error: unknown): RpcFailure {
  if (error instanceof RpcError) {
    const { code, message, data } = error
    return { code, message, ...(data === undefined ? {} : { data }) }
  }
  return { code: internalError, message: errorText(error) }
}

/** A session that nobody knows. */
export function unknownSession(id: RpcId, sessionId: string): string {
  return errorLine(id, { code: noSuchSession, message: `there is no session ${sessionId}` })
}
