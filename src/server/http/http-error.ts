/** The refusals that only HTTP knows, with their status and the title that all of one code have. All other
 *  problems have the code of a `SkeinError`. */
export const httpErrors = {
  token_in_url: { status: 400, title: 'The URL contains a token' },
  unauthorized: { status: 401, title: 'No valid token' },
  wrong_scope: { status: 403, title: 'The token does not have the scope' },
  foreign_origin: { status: 403, title: 'The page has another origin' },
  no_route: { status: 404, title: 'There is nothing at this address' },
  wrong_method: { status: 405, title: 'The address does not take this method' },
  too_slow: { status: 408, title: 'The body arrives too slowly' },
  too_large: { status: 413, title: 'The body is too large' },
  wrong_media_type: { status: 415, title: 'The body has the wrong media type' },
  wrong_range: { status: 416, title: 'The range is outside the blob' },
  unknown_host: { status: 421, title: 'The service does not answer for this host' },
  too_many_requests: { status: 429, title: 'Too many wrong tokens, or too many running turns' },
  failure: { status: 500, title: 'The service failed' },
  no_models: { status: 503, title: 'The service does not ask models' },
  shutting_down: { status: 503, title: 'The service is shutting down' },
} as const

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
