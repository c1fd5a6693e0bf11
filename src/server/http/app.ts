import { type Context, Hono } from 'hono'
import type { ZodType } from 'zod'
import type { AccessToken } from '../../core/access-token.ts'
import { InvalidError } from '../../core/errors.ts'
import { type Authenticate, checkScope } from './authenticate.ts'
import { checkAddress, type KnownNames } from './check-address.ts'
import { HttpError } from './http-error.ts'
import { problemOf } from './problem.ts'
import { type BodyLimits, readJson } from './read-json.ts'
import { type Caller, parseWith, queryOf, type Route, type RouteInput } from './route.ts'
import type { ServiceOptions, ServiceStore } from './service-options.ts'
import type { CutOff } from './stream.ts'

/** What is known of a request besides itself. */
export interface RequestInfo {
  /** The address of the client, for the limit of wrong tokens. */
  readonly address: string
  /** Identifies the request. */
  readonly requestId: string
  /** Filled in while the request is answered, for the log. */
  readonly facts: RequestFacts
  /** Called if the body of the response breaks off. */
  readonly cutOff: CutOff
}

/** Facts of a request for the log. They hold no content. */
export interface RequestFacts {
  /** The path of the route with its variables unfilled. */
  route?: string
  /** The tenant of the token. */
  tenant?: string
  /** The id of the token. */
  token?: string
  /** The code of the problem, if there was one. */
  code?: string
  /** The error itself. It is logged only if it is not the client's fault. */
  error?: unknown
}

/** What the routes of an application share. */
export interface AppOptions {
  /** The routes below `/api/v1`. */
  readonly routes: readonly Route[]
  /** Makes the OpenAPI document, when it is asked for. */
  openApi(): object
  /** The host names that are answered. */
  readonly known: KnownNames
  /** Checks tokens. */
  readonly authenticate: Authenticate
  /** The store of a tenant. */
  storeOf(tenant: string): Promise<ServiceStore>
  /** Limits of bodies. */
  readonly limits: BodyLimits
  /** Text of `/metrics`. */
  metrics(): Promise<{ readonly text: string; readonly mediaType: string }>
  /** Throws if requests cannot be answered. */
  ready(): Promise<void>
  /** Throws if the service is shutting down and the route would begin something new. */
  checkOpen(route: Route): void
  /** Answers requests to `/mcp`. Null: there is nothing at that address. */
  readonly mcp: NonNullable<ServiceOptions['mcp']> | null
}

/** The addresses besides the routes. */
const unlisted: ReadonlySet<string> = new Set([
  '/healthz',
  '/readyz',
  '/metrics',
  '/mcp',
  '/api/v1/openapi.json',
])

type AppEnv = { Bindings: RequestInfo }

/** Makes the application: routes with their checks, health, metrics, and the OpenAPI document. */
export function createApp(options: AppOptions): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
  let document: string | undefined
  app.use(async (c, next) => {
    if (unlisted.has(c.req.path)) c.env.facts.route = c.req.path
    await next()
  })
  app.get('/healthz', () => plain('ok\n'))
  app.get('/readyz', async () => {
    await options.ready()
    return plain('ready\n')
  })
  app.get('/metrics', async c => {
    await admit(c, options, 'admin')
    const { text, mediaType } = await options.metrics()
    return new Response(text, { headers: { 'content-type': mediaType } })
  })
  for (const route of options.routes) addRoute(app, route, options)
  app.get('/api/v1/openapi.json', async c => {
    await admit(c, options, 'read')
    document ??= JSON.stringify(options.openApi())
    return new Response(document, { headers: { 'content-type': 'application/json; charset=utf-8' } })
  })
  const { mcp } = options
  if (mcp !== null)
    app.all('/mcp', async c => {
      const { token } = await admit(c, options, 'read')
      return mcp(c.req.raw, token)
    })
  addMethodNotAllowed(app, options)
  app.notFound(async c => {
    // Below /api, addresses are not shown to callers without a token.
    if (/^\/api(\/|$)/.test(c.req.path)) await authenticate(c, options)
    const slashless = c.req.path.replace(/\/+$/, '')
    const isSlashed = slashless !== c.req.path && options.routes.some(route => isAt(route, slashless))
    const facts = isSlashed ? { hint: 'Leave out the slash at the end.' } : {}
    return respond(c, new HttpError('no_route', 'there is nothing at this address', facts))
  })
  app.onError((error, c) => respond(c, error))
  return app
}

function addRoute(app: Hono<AppEnv>, route: Route, options: AppOptions): void {
  const path = `/api/v1${route.path}`
  app.on(route.method.toUpperCase(), patternOf(path), async c => {
    c.env.facts.route = path
    const caller = await admit(c, options, route.scope)
    options.checkOpen(route)
    const request = c.req.raw
    const input: RouteInput<unknown, unknown, unknown> = {
      params: route.params ? parseWith(route.params, c.req.param(), 'path') : undefined,
      query: parseQuery(route.query, request.url),
      body: route.body ? await bodyOf(route, request, options.limits) : undefined,
      request,
      caller,
      cutOff: c.env.cutOff,
    }
    return route.handle(input)
  })
}

/** Checks host, origin, token and scope. */
async function admit(c: Context<AppEnv>, options: AppOptions, scope: Route['scope']): Promise<Caller> {
  const token = await authenticate(c, options)
  checkScope(token, scope)
  return { token, store: await options.storeOf(token.tenant), requestId: c.env.requestId }
}

/** Checks host, origin and token. */
async function authenticate(c: Context<AppEnv>, options: AppOptions): Promise<AccessToken> {
  const { address, facts } = c.env
  checkAddress(c.req.raw, options.known)
  const token = await options.authenticate(c.req.raw, address)
  facts.tenant = token.tenant
  facts.token = token.id
  return token
}

/** Whether the route has this address. */
function isAt({ path }: Route, address: string): boolean {
  return new RegExp(`^/api/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(address)
}

const noQuery = {} as const

function parseQuery(schema: ZodType | undefined, url: string): unknown {
  if (schema) return parseWith(schema, queryOf(url), 'query')
  const [unknown] = Object.keys(queryOf(url))
  if (unknown !== undefined) throw new InvalidError(unknown, 'is not a parameter of this address')
  return noQuery
}

async function bodyOf(route: Route, request: Request, limits: BodyLimits): Promise<unknown> {
  if (route.bodyOptional && !hasBody(request)) return undefined
  return parseWith(route.body!, await readJson(request, limits), 'body')
}

function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
}

/** `/conversations/{id}` in the notation of hono. */
function patternOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

function addMethodNotAllowed(app: Hono<AppEnv>, options: AppOptions): void {
  for (const [path, known] of Map.groupBy(options.routes, ({ path }) => path)) {
    const allow = [...new Set(known.map(({ method }) => method.toUpperCase()))].join(', ')
    app.all(patternOf(`/api/v1${path}`), async c => {
      c.env.facts.route = `/api/v1${path}`
      await authenticate(c, options)
      const error = new HttpError('wrong_method', `this address takes ${allow}`, { headers: { allow } })
      return respond(c, error)
    })
  }
}

function respond(c: Context<AppEnv>, error: unknown): Response {
  const { requestId, facts } = c.env
  const { status, code, headers, body } = problemOf(error, requestId)
  facts.code = code
  facts.error = error
  return new Response(JSON.stringify(body), { status, headers })
}

function plain(text: string): Response {
  return new Response(text, {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  })
}
