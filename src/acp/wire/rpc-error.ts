import type { RpcFailure } from './wire-line.ts'

/** A peer refused a request. Which code means "no such session" differs from agent to agent; only two are
 *  agreed on. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: RpcFailure) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The other side, or its process, ended before it answered. */
export class ConnectionEnded extends Error {
  override readonly name = 'ConnectionEnded'
}

/** The agent wants the person to sign in first. */
export const authRequired = -32_000
/** A request was cancelled by whoever sent it. */
export const requestCancelled = -32_800
export const methodNotFound = -32_601
export const invalidParams = -32_602
export const internalError = -32_603
export const noSuchSession = -32_002

/** Whether another way may be tried after this error. Not where a person has to sign in, and not where
 *  somebody has called it off: anything else may be an agent's way to say that it does not know the
 *  session. */
export function allowsFallback(error: unknown): boolean {
  if (error instanceof RpcError) return error.code !== authRequired && error.code !== requestCancelled
  return !(error instanceof DOMException && error.name === 'AbortError')
}
