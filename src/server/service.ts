import { randomUUID } from 'node:crypto'
import { checkFunction, checkMethod, checkObject } from '../core/check.ts'
import type { Maintainer } from '../core/maintainer.ts'
import type { SweepReceipt } from '../core/removal.ts'
import { version } from '../system/version.ts'
import { createApp, type RequestFacts } from './http/app.ts'
import { createAuthenticate } from './http/authenticate.ts'
import { knownNames } from './http/check-address.ts'
import { shuttingDown } from './http/http-error.ts'
import { errorFacts, logCutOff, logFailedTurn, logRequest, type RequestEntry } from './http/log-request.ts'
import { createMetrics } from './http/metrics.ts'
import { openApiOf } from './http/openapi.ts'
import { problemOf } from './http/problem.ts'
import { defaultServiceLimits, type ServiceOptions, type ServiceStore } from './http/service-options.ts'
import type { CutOff } from './http/stream.ts'
import { allRoutes } from './routes/index.ts'
import { createRunningTurns } from './turns/running-turns.ts'

/** The HTTP service: a function from requests to responses. */
export interface Service {
  /** Answers a request. Never rejects. */
  fetch(request: Request, info?: ConnectionInfo): Promise<Response>
  /** The OpenAPI 3.1 document, as `/api/v1/openapi.json` returns it. */
  openApi(): object
  /** Ends the service: `/readyz` and all writes fail with 503, followers are told to reconnect, and running
   *  turns finish within `closeMs` or are stored as interrupted. The stores stay open. */
  close(): Promise<void>
}

/** The connection of a request, as far as a server knows it. */
export interface ConnectionInfo {
  /** The address of the client, for the limit of wrong tokens. Default: all clients have one. */
  readonly address?: string
  /** Closes the connection. Called if a body breaks off after the response has begun. Default: the stream of
   *  the body ends with an error, which does not say why. */
  readonly close?: () => void
}

/** Creates the service. It opens nothing and listens nowhere: mount `fetch` in any server, or use `listen`.
 *
 * @example
 * ```ts
 * import { createHash, randomBytes } from 'node:crypto'
 * import { openStore } from 'skein'
 * import { createService } from 'skein/server'
 *
 * await using store = await openStore(':memory:')
 * const secret = randomBytes(32).toString('base64url')
 * const hash = createHash('sha256').update(secret).digest('hex')
 * await store.addToken({ hash, name: 'example', scopes: ['read', 'write'] })
 *
 * const service = createService({ storeOf: async () => store, tokens: store })
 * const headers = { authorization: `Bearer ${secret}` }
 * const url = 'http://localhost/api/v1/conversations'
 * const response = await service.fetch(new Request(url, { headers }))
 * console.log(response.status, await response.json()) // 200 { items: [], next: null, skipped: [] }
 * await service.close()
 * ```
 */
export function createService(options: ServiceOptions): Service {
  checkObject(options, 'options')
  checkFunction(options.storeOf, 'storeOf')
  checkMethod(options.tokens, 'tokens', 'findToken', 'a keeper of tokens, such as a store')
  const { now = Date.now, log = null, tenants = [] } = options
  const limits = { ...defaultServiceLimits, ...options.limits }
  const stores = new Map<string, Promise<ServiceStore>>()
  const opened = new Map<string, ServiceStore>()
  const metrics = createMetrics(options.metrics, () => [...opened.values()], now)
  const turns = createRunningTurns({
    most: limits.maxTurns,
    onCount: metrics.openTurns,
    onFailed: ({ tenant, branch, requestId }, error) => {
      const { conversationId: conversation } = branch
      if (log) logFailedTurn(log, { request_id: requestId, tenant, conversation }, error)
    },
  })
  const closing = new AbortController()

  /** The store of a tenant, opened once. A failed attempt is repeated by the next request. */
  function storeOf(tenant: string): Promise<ServiceStore> {
    const known = stores.get(tenant)
    if (known) return known
    const opening = options.storeOf(tenant).then(store => metrics.timed(store))
    stores.set(tenant, opening)
    opening.then(
      store => opened.set(tenant, store),
      () => stores.delete(tenant),
    )
    return opening
  }

  const routes = allRoutes({
    agentOf: options.agentOf,
    turns,
    metrics,
    limits,
    now,
    closing: closing.signal,
  })
  const openApi = () => openApiOf(routes, version())
  const app = createApp({
    routes,
    openApi,
    known: knownNames(options.publicUrl, options.hosts),
    authenticate: createAuthenticate({ tokens: options.tokens, now, ...limits }),
    storeOf,
    limits,
    metrics: () => metrics.text(),
    mcp: options.mcp ?? null,
    async ready() {
      if (closing.signal.aborted) throw shuttingDown()
      await options.tokens.findToken(unusedHash)
    },
    checkOpen({ method, operation }) {
      // A turn that delays the end may be stopped.
      if (closing.signal.aborted && method !== 'get' && operation !== 'stopTurn') throw shuttingDown()
    },
  })

  const sweeps = startSweeps(options.sweepMs ?? null, {
    stores: () => Promise.all([...new Set([...tenants, ...stores.keys()])].map(storeOf)),
    onSwept: ({ trashed }) => metrics.expired(trashed.length),
    onFailed: error => log?.warn({ error: errorFacts(error) }, 'sweep failed'),
  })

  async function fetch(
    request: Request,
    { address = 'unknown', close }: ConnectionInfo = {},
  ): Promise<Response> {
    const start = performance.now()
    const requestId = requestIdOf(request)
    const facts: RequestFacts = {}
    const entry = (status: number): RequestEntry => {
      const { route = 'none', tenant, token, code } = facts
      const ms = Math.round(performance.now() - start)
      return { request_id: requestId, method: request.method, route, status, tenant, token, code, ms }
    }
    const cutOff: CutOff = error => {
      if (log && !request.signal.aborted) logCutOff(log, entry(200), error)
      // The status and the pieces before the error are sent first.
      if (close) setImmediate(close)
      return close ? null : brokenOff(requestId)
    }
    let response: Response
    try {
      response = await app.fetch(request, { address, requestId, facts, cutOff })
    } catch (error) {
      facts.error = error
      const { status, headers, body } = problemOf(error, requestId)
      response = new Response(JSON.stringify(body), { status, headers })
    }
    for (const [name, value] of Object.entries(securityHeaders)) {
      if (!response.headers.has(name)) response.headers.set(name, value)
    }
    response.headers.set('x-request-id', requestId)
    const seconds = (performance.now() - start) / 1_000
    const { status } = response
    metrics.request(request.method, facts.route ?? 'none', status, seconds)
    if (log) logRequest(log, entry(status), facts.error, request.signal.aborted)
    return response
  }

  return {
    fetch,
    openApi,
    async close() {
      closing.abort(new DOMException('the service is shutting down', 'AbortError'))
      await Promise.all([sweeps.stop(), turns.close(limits.closeMs)])
    },
  }
}

/** A hash that no token has: looking it up shows that the store answers. */
const unusedHash = '0'.repeat(64)

const securityHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** The error of a body that broke off. Servers print such errors: it has neither the cause nor a stack. */
function brokenOff(requestId: string): Error {
  const error = new Error(`the response broke off: the log has the reason, with request_id ${requestId}`)
  error.stack = `${error.name}: ${error.message}`
  return error
}

/** The id that a proxy has given the request, or a new one. */
function requestIdOf({ headers }: Request): string {
  const given = headers.get('x-request-id')
  return given !== null && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID()
}

/** What is swept, and who is told. */
interface SweepSettings {
  /** The stores to sweep. */
  stores(): Promise<readonly Pick<Maintainer, 'sweep'>[]>
  /** Called after each sweep. */
  onSwept(receipt: SweepReceipt): void
  /** Called if a sweep fails. The next one is tried as usual. */
  onFailed(error: unknown): void
}

/** Sweeps at once and then repeatedly: expired task conversations go to the trash, old trash is purged. Of
 *  several processes with the same interval, one sweeps. Null: never. */
function startSweeps(
  everyMs: number | null,
  settings: SweepSettings,
): { /** Waits for a running sweep. */ stop(): Promise<void> } {
  let running: Promise<void> = Promise.resolve()
  // A timer may fire a little early.
  const ifOlderThanMs = Math.floor((everyMs ?? 0) * 0.9)

  async function sweep(): Promise<void> {
    try {
      for (const store of await settings.stores()) settings.onSwept(await store.sweep({ ifOlderThanMs }))
    } catch (error) {
      settings.onFailed(error)
    }
  }

  if (everyMs === null) return { stop: async () => undefined }
  running = sweep()
  // A timer of Node takes at most 2^31 - 1 milliseconds.
  const timer = setInterval(
    () => {
      running = running.then(sweep)
    },
    Math.min(everyMs, 2_147_483_647),
  )
  timer.unref()
  return {
    stop() {
      clearInterval(timer)
      return running
    },
  }
}
