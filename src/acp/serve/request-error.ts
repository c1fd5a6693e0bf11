import { RequestError } from '@agentclientprotocol/sdk/unstable'
import { errorText } from '../../core/error-text.ts'
import { type ErrorCode, NotFoundError, SkeinError } from '../../core/errors.ts'
import { internalError, invalidParams, noSuchSession } from '../wire/rpc-error.ts'

/** Every way we can refuse, as a client is told. What the client gave was wrong, was not there, or we
 *  failed. */
const codes: Readonly<Record<ErrorCode, number>> = {
  not_found: noSuchSession,
  invalid: invalidParams,
  ambiguous_id: invalidParams,
  conflict: internalError,
  key_reused: internalError,
  busy: internalError,
  storage_full: internalError,
  read_only: internalError,
  corrupt: internalError,
  schema_too_new: internalError,
  outcome_unknown: internalError,
  unavailable: internalError,
  expired: internalError,
  model_failed: internalError,
  context_length: internalError,
  // Not "sign in first": there is nowhere to sign in, and the sentence says which variable to set.
  missing_key: internalError,
}

/** An error as a client shows it: the sentence for the person stands in the message, because many show
 *  nothing else. */
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
