/** A kind of refusal. */
interface HttpErrorEntry {
  readonly status: number
  /** The title that all refusals of one code have. */
  readonly title: string
  /** The next step, for refusals that do not name one. Null if their message says it all. */
  readonly hint: string | null
}

const seeDocument = 'All addresses are in the OpenAPI document: /api/v1/openapi.json'

/** The hint of failures whose cause is not for clients. */
export const seeLog = 'The log of the service names the cause, with the request_id of this response.'

/** The refusals that only HTTP knows. All other problems have the code of a `SkeinError`. */
export const httpErrors = {
  token_in_url: { status: 400, title: 'The URL contains a token', hint: null },
  unauthorized: { status: 401, title: 'No valid token', hint: null },
  wrong_scope: { status: 403, title: 'The token does not have the scope', hint: null },
  foreign_origin: {
    status: 403,
    title: 'The page has another origin',
    hint: 'Name its address in server.public_url of skein.yaml.',
  },
  no_route: { status: 404, title: 'There is nothing at this address', hint: seeDocument },
  wrong_method: { status: 405, title: 'The address does not take this method', hint: seeDocument },
  too_slow: { status: 408, title: 'The body arrives too slowly', hint: 'Send it again, in one piece.' },
  too_large: { status: 413, title: 'The body is too large', hint: null },
  wrong_media_type: { status: 415, title: 'The body has the wrong media type', hint: null },
  wrong_range: {
    status: 416,
    title: 'The range is outside the blob',
    hint: 'Content-Range has the size of the blob.',
  },
  unknown_host: { status: 421, title: 'The service does not answer for this host', hint: null },
  too_many_requests: { status: 429, title: 'Too many wrong tokens, or too many running turns', hint: null },
  failure: {
    status: 500,
    title: 'The service failed',
    hint: seeLog,
  },
  no_models: {
    status: 503,
    title: 'The service does not ask models',
    hint: 'Append messages instead, or send the request to a service that has models.',
  },
  shutting_down: { status: 503, title: 'The service is shutting down', hint: null },
} as const satisfies Readonly<Record<string, HttpErrorEntry>>

/** The code of such a refusal. */
export type HttpErrorCode = keyof typeof httpErrors

/** What a refusal may say besides its code and message. */
export interface HttpErrorFacts {
  /** The next step for a person, as a sentence. */
  readonly hint?: string
  /** Seconds after which another attempt may succeed. */
  readonly retryAfter?: number
  /** Further headers of the response. */
  readonly headers?: Readonly<Record<string, string>>
  /** Members of the problem details, in snake_case. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** A request that is refused before a store sees it. `problemOf` makes the response. */
export class HttpError extends Error {
  /** The status of the response. */
  readonly status: number
  /** Identifies the kind of refusal. */
  readonly code: HttpErrorCode
  /** What else the response says. */
  readonly facts: HttpErrorFacts

  constructor(code: HttpErrorCode, message: string, facts: HttpErrorFacts = {}) {
    super(message)
    this.name = 'HttpError'
    this.status = httpErrors[code].status
    this.code = code
    this.facts = facts
  }
}

/** The refusal of requests that would begin something new. */
export function shuttingDown(): HttpError {
  const hint = 'Try again: another process, or the next one of this service, takes the request.'
  return new HttpError('shutting_down', 'the service is shutting down', { retryAfter: 2, hint })
}
