/** The codes of refusals that only HTTP knows. All other problems have the code of a `SkeinError`. */
export type HttpErrorCode =
  | 'unauthorized'
  | 'wrong_scope'
  | 'foreign_origin'
  | 'no_route'
  | 'wrong_method'
  | 'too_large'
  | 'too_slow'
  | 'unknown_host'
  | 'too_many_requests'
  | 'wrong_media_type'
  | 'wrong_range'
  | 'shutting_down'
  | 'failure'

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

  constructor(status: number, code: HttpErrorCode, message: string, facts: HttpErrorFacts = {}) {
    super(message)
    this.name = 'HttpError'
    this.status = status
    this.code = code
    this.facts = facts
  }
}
