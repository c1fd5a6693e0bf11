import { RequestError } from '@agentclientprotocol/sdk/unstable'
import { errorText } from '../../core/error-text.ts'
import { type ErrorCode, NotFoundError, SkeinError } from '../../core/errors.ts'
import { authRequired, internalError, invalidParams, noSuchSession } from '../wire/rpc-error.ts'

/** The JSON-RPC code of each of our errors: the client's input was wrong, the session is unknown, or we
 *  failed. */
const codes: Readonly<Record<ErrorCode, number>> = {
  not_found: noSuchSession,
  invalid: invalidParams,
  ambiguous_id: invalidParams,
  conflict: internalError,
  precondition_failed: internalError,
  key_reused: internalError,
  busy: internalError,
  storage_full: internalError,
  read_only: internalError,
  corrupt: internalError,
  schema_too_new: internalError,
  outcome_unknown: internalError,
  unavailable: internalError,
  misconfigured: internalError,
  expired: internalError,
  model_failed: internalError,
  context_length: internalError,
  // The message names the variable to set.
  missing_key: authRequired,
  owned: invalidParams,
}

/** An error for the client. The explanation is in the message, because many clients show nothing else. */
export function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  const message = errorText(error)
  if (!(error instanceof SkeinError)) return new RequestError(internalError, message)
  return new RequestError(codes[error.code], message, { code: error.code })
}

export function unknownSessionError(sessionId: string): RequestError {
  return new RequestError(noSuchSession, new NotFoundError('conversation', sessionId).message, { sessionId })
}

export function invalidParamsError(problem: string): RequestError {
  return new RequestError(invalidParams, problem)
}
