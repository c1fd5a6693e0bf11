import { PreconditionFailedError } from '../../core/conditional-writer.ts'
import {
  AmbiguousIdError,
  BusyError,
  ConflictError,
  ContextLengthError,
  type ErrorCode,
  InvalidError,
  KeyReusedError,
  MissingKeyError,
  ModelError,
  NotFoundError,
  OwnedError,
  SchemaTooNewError,
  SkeinError,
} from '../../core/errors.ts'
import { withoutSecrets } from '../../system/secrets.ts'
import { HttpError, httpErrors, seeLog } from './http-error.ts'
import { etagOf } from './precondition.ts'

/** The status of an error, and the title that all errors of its code have. */
interface StatusEntry {
  readonly status: number
  readonly title: string
  /** Seconds after which another attempt may succeed. Absent if waiting does not help. */
  readonly retryAfter?: number
  /** The next step, for errors that do not name one. Null if their message says it all. */
  readonly hint: string | null
}

const seeFields = 'The fields of every request are in /api/v1/openapi.json.'
const tryAgain = `Try again. ${seeLog}`

/** The status of every error code. A new error code does not compile without one. */
export const statusOf: Readonly<Record<ErrorCode, StatusEntry>> = {
  invalid: { status: 400, title: 'The request is invalid', hint: seeFields },
  ambiguous_id: {
    status: 400,
    title: 'The text matches several ids',
    hint: 'Send more characters of the id.',
  },
  not_found: { status: 404, title: 'Not found', hint: null },
  conflict: {
    status: 409,
    title: 'Another writer was first',
    hint: 'Continue from actual_head, or send on_conflict: fork to write to a new branch.',
  },
  precondition_failed: {
    status: 412,
    title: 'The conversation has changed since it was read',
    hint: 'Read it again, and send its ETag as If-Match.',
  },
  busy: {
    status: 409,
    title: 'It is in use',
    retryAfter: 1,
    hint: 'Try again when it is free. GET …/turns?status=open shows the turn, DELETE …/turns/{key} stops it.',
  },
  expired: {
    status: 409,
    title: 'The lease has expired',
    hint: 'Another process has continued the turn: read the conversation again.',
  },
  owned: {
    status: 409,
    title: 'Another program owns the conversation',
    hint: 'Continue it in that program, or import a copy.',
  },
  key_reused: { status: 422, title: 'The key is taken', hint: 'Send another key or name.' },
  context_length: {
    status: 422,
    title: 'The request does not fit into the window',
    hint: 'Send less, name a model with a larger window, or ask on a branch with fewer messages.',
  },
  corrupt: {
    status: 500,
    title: 'Stored data is damaged',
    hint: 'On the machine of the store: skein verify',
  },
  misconfigured: { status: 500, title: 'The service is misconfigured', hint: seeLog },
  model_failed: { status: 502, title: 'The model failed', hint: null },
  unavailable: { status: 503, title: 'The store cannot be reached', retryAfter: 2, hint: tryAgain },
  outcome_unknown: {
    status: 503,
    title: 'The outcome of the write is unknown',
    retryAfter: 2,
    hint: 'Repeat the request with the same Idempotency-Key: it is not stored twice.',
  },
  read_only: { status: 503, title: 'The store is read-only', hint: seeLog },
  schema_too_new: { status: 503, title: 'A newer version wrote the store', hint: 'Upgrade the service.' },
  missing_key: {
    status: 503,
    title: 'A key of a provider is not set',
    hint: 'Set it where the service runs, or name another model.',
  },
  storage_full: { status: 507, title: 'The storage is full', hint: 'Free space on the disk of the store.' },
}

/** Messages of these errors may contain paths, addresses or texts of an engine. They are logged instead. */
const internal: ReadonlySet<ErrorCode> = new Set([
  'corrupt',
  'misconfigured',
  'unavailable',
  'outcome_unknown',
  'read_only',
  'storage_full',
])

/** A response to a request that failed. */
export interface Problem {
  /** The status of the response. */
  readonly status: number
  /** The code of the error, as in the body. */
  readonly code: string
  /** The headers of the response, with `Retry-After` where waiting helps. */
  readonly headers: Readonly<Record<string, string>>
  /** Problem details (RFC 9457), with `success` and `message` for compatible clients. */
  readonly body: Readonly<Record<string, unknown>>
}

/** The problem details of an error. An unknown error becomes a 500 without its message. */
export function problemOf(error: unknown, requestId: string): Problem {
  if (error instanceof HttpError) {
    const { status, code, message, facts } = error
    const { title, hint } = httpErrors[code]
    const more = { hint: facts.hint ?? hint, ...facts.members }
    return problem(status, code, title, message, more, requestId, {
      ...retryHeader(facts.retryAfter),
      ...facts.headers,
    })
  }
  if (error instanceof SkeinError) {
    const { status, title, retryAfter, hint: defaultHint } = statusOf[error.code]
    const isInternal = internal.has(error.code)
    // A provider may quote a key, and a refusal the request.
    const detail = isInternal ? title : withoutSecrets(messageOf(error))
    const given = isInternal ? null : error.hint
    const hint = given === null ? defaultHint : withoutSecrets(given)
    const wait = error instanceof ModelError ? modelWait(error) : retryAfter
    return problem(status, error.code, title, detail, { hint, ...factsOf(error) }, requestId, {
      ...retryHeader(wait),
      ...(error instanceof PreconditionFailedError && { etag: etagOf(error.version) }),
    })
  }
  const { status, title, hint } = httpErrors.failure
  return problem(status, 'failure', title, title, { hint }, requestId, {})
}

function problem(
  status: number,
  code: string,
  title: string,
  detail: string,
  facts: Readonly<Record<string, unknown>>,
  requestId: string,
  headers: Readonly<Record<string, string>>,
): Problem {
  return {
    status,
    code,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
    body: {
      ...facts,
      type: `urn:skein:error:${code}`,
      title,
      status,
      detail,
      code,
      request_id: requestId,
      success: false,
      message: detail,
    },
  }
}

/** `Retry-After` in whole seconds, or no header. */
function retryHeader(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}

function modelWait({ retryable, retryAfterMs }: ModelError): number | undefined {
  if (retryAfterMs !== null) return retryAfterMs / 1_000
  return retryable ? 5 : undefined
}

/** The message of an error. A holder's host and process are not for clients. */
function messageOf(error: SkeinError): string {
  return error instanceof BusyError
    ? new BusyError(error.what, null, error.leaseUntil).message
    : error.message
}

/** The fields of an error, in snake_case, without the holder. */
function factsOf(error: SkeinError): Readonly<Record<string, unknown>> {
  if (error instanceof NotFoundError)
    return { kind: error.kind, id: error.id.slice(0, 200), trashed: error.trashed }
  if (error instanceof ConflictError)
    return { branch: error.branch, expected_head: error.expected, actual_head: error.actual }
  if (error instanceof PreconditionFailedError) return { version: error.version }
  if (error instanceof BusyError) return { lease_until: error.leaseUntil?.toISOString() ?? null }
  if (error instanceof InvalidError) return { field: error.field.slice(0, 200), position: error.position }
  if (error instanceof AmbiguousIdError) return { prefix: error.prefix, candidates: error.candidates }
  if (error instanceof KeyReusedError) return { key: error.key.slice(0, 512) }
  if (error instanceof SchemaTooNewError) return { found: error.found, known: error.known }
  if (error instanceof ContextLengthError) return { limit: error.limit, needed: error.needed }
  if (error instanceof MissingKeyError) return { provider: error.provider, variable: error.variable }
  if (error instanceof OwnedError) return { conversation: error.conversationId, owner: error.owner }
  if (error instanceof ModelError) {
    const { model, kind, status, retryable } = error
    return { model, kind, model_status: status, retryable }
  }
  return {}
}
