import type { RpcFailure } from './wire-line.ts'

/** A peer refused a request. Agents use different codes for "no such session"; all agree on two codes
 *  only. */
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

/** The agent requires the person to sign in first. */
export const authRequired = -32_000
/** The sender cancelled the request. */
export const requestCancelled = -32_800
export const invalidRequest = -32_600
export const methodNotFound = -32_601
export const invalidParams = -32_602
export const internalError = -32_603
export const noSuchSession = -32_002

/** Whether a fallback may be tried after this error. Not if the person has to sign in or has cancelled. With
 *  any other error an agent may mean that it does not know the session. */
export function allowsFallback(error: unknown): boolean {
  if (error instanceof RpcError) return error.code !== authRequired && error.code !== requestCancelled
  return !(error instanceof DOMException && error.name === 'AbortError')
}
