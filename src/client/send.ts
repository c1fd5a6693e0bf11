import type { ProblemJson } from '../api/problem.ts'
import { checkFunction, checkObject } from '../core/check.ts'
import { InvalidError } from '../core/errors.ts'

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

/** Where a client sends its requests, and how often. */
export interface SendSettings {
  /** The address of the service, such as `http://127.0.0.1:4717`. */
  readonly url: string
  /** The token, or a function that returns it for each request. */
  readonly token: string | (() => string | Promise<string>)
  /** Sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch
  /** How often a request that may be repeated is repeated. Default: 3. */
  readonly retries?: number
}

/** A body that is not JSON. */
export type RawBody = string | Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

/** A request to the service. */
export interface SendRequest {
  /** Default: `GET`. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Parameters. Undefined ones are left out, lists are repeated. */
  readonly query?: Readonly<Record<string, unknown>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** A body that is not JSON. It is sent once. */
  readonly raw?: { readonly type: string; readonly body: RawBody }
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the request may be repeated although its outcome is unknown. Default: true except for POST and
   *  PATCH. */
  readonly repeatable?: boolean
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined
}

/** Sends a request to a path below `/api/v1`. Throws ServiceError unless the status is 2xx. */
export type Send = (path: string, request?: SendRequest) => Promise<Response>

const firstPauseMs = 200
const longestPauseMs = 10_000

/** Makes the function that sends requests and repeats those that failed for a passing reason. */
export function createSend(settings: SendSettings): Send {
  checkObject(settings, 'settings', 'an object with url and token')
  const { url, token, fetch: given, retries = 3 } = settings
  if (!URL.canParse(url)) throw new InvalidError('url', 'must be an address, such as http://127.0.0.1:4717')
  if (typeof token !== 'string') checkFunction(token, 'token')
  const base = `${url.replace(/\/+$/, '')}/api/v1`
  const fetcher: typeof fetch = given ?? ((input, init) => fetch(input, init))

  async function once(path: string, request: SendRequest): Promise<Response> {
    const { method = 'GET', query = {}, body, raw, headers, signal } = request
    const secret = typeof token === 'string' ? token : await token()
    const init: RequestInit & { duplex?: 'half' } = {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(raw && { 'content-type': raw.type }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(raw && { body: raw.body, duplex: 'half' as const }),
      ...(signal && { signal }),
    }
    let response: Response
    try {
      response = await fetcher(base + path + queryText(query), init)
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw new ServiceError('the service cannot be reached', { code: 'unreachable', cause: error })
    }
    if (!response.ok) throw await errorOf(response)
    return response
  }

  return async (path, request = {}) => {
    const { method = 'GET', raw, signal } = request
    const repeatable = request.repeatable ?? (raw === undefined && method !== 'POST' && method !== 'PATCH')
    for (let attempt = 0; ; attempt++) {
      try {
        return await once(path, request)
      } catch (error) {
        if (attempt >= retries || !isPassing(error, repeatable)) throw error
        await pause(error.retryAfterMs ?? firstPauseMs * 2 ** attempt * (0.5 + Math.random()), signal)
      }
    }
  }
}

/** Whether another attempt may succeed. A request that was refused before it was handled can always be
 *  repeated; otherwise its outcome is unknown. */
function isPassing(error: unknown, repeatable: boolean): error is ServiceError {
  if (!(error instanceof ServiceError)) return false
  if (error.status === 429) return true
  const isUnknown = error.status === null || error.status === 502 || error.status === 504
  if (error.status === 503) return repeatable && error.code !== 'missing_key' && error.code !== 'read_only'
  return repeatable && isUnknown && error.code !== 'model_failed'
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) parameters.append(name, String(one))
    }
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', end)
        resolve()
      },
      Math.min(ms, longestPauseMs),
    )
    signal?.addEventListener('abort', end, { once: true })
  })
}

/** The error of a response that is not successful. */
async function errorOf(response: Response): Promise<ServiceError> {
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
