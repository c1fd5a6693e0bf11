import type { ProblemJson } from '../api/problem.ts'

/** A request that the service refused, or that did not reach it. */
export class ServiceError extends Error {
  /** Identifies the kind of problem: `not_found`, `conflict`, `unauthorized` …; `unreachable` if there was no
   *  response. */
  readonly code: string
  /** The status of the response. Null without a response. */
  readonly status: number | null
  /** Identifies the request in the logs of the service. Null without a response. */
  readonly requestId: string | null
  /** The next step for a person. Null if there is nothing to advise. */
  readonly hint: string | null
  /** The wait that the service asked for, in milliseconds. Null if it did not. */
  readonly retryAfterMs: number | null
  /** All members of the problem details, in snake_case: `actual_head`, `field` … */
  readonly problem: Readonly<Record<string, unknown>>

  constructor(
    message: string,
    facts: {
      readonly code: string
      readonly status?: number
      readonly retryAfterMs?: number | null
      readonly problem?: Partial<ProblemJson>
      readonly cause?: unknown
    },
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.name = 'ServiceError'
    this.code = facts.code
    this.status = facts.status ?? null
    this.requestId = facts.problem?.request_id ?? null
    this.hint = facts.problem?.hint ?? null
    this.retryAfterMs = facts.retryAfterMs ?? null
    this.problem = facts.problem ?? {}
  }
}

/** The error of a response that is not successful. */
export async function errorOf(response: Response): Promise<ServiceError> {
  const { status, headers } = response
  const wait = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfterMs = Number.isFinite(wait) ? wait * 1_000 : null
  const problem = await problemIn(response)
  const message = problem?.detail ?? `the service answered ${status}`
  return new ServiceError(message, {
    code: problem?.code ?? 'failure',
    status,
    retryAfterMs,
    problem: problem ?? {},
  })
}

/** The problem details of a response. Null if a proxy answered with something else. */
async function problemIn(response: Response): Promise<ProblemJson | null> {
  try {
    const body: unknown = await response.json()
    const isProblem = typeof body === 'object' && body !== null && 'code' in body && 'detail' in body
    return isProblem ? (body as ProblemJson) : null
  } catch {
    return null
  }
}
