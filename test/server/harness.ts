import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent } from '../../src/agent/agent.ts'
import type { AgentOptions } from '../../src/agent/options.ts'
import { type TokenScope, tokenScopes } from '../../src/core/access-token.ts'
import type { Store } from '../../src/core/ports.ts'
import { type ScriptedOptions, scripted } from '../../src/models/scripted.ts'
import { createService, type Listening, listen, type ServiceOptions } from '../../src/server/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { checkedEvents } from './checked-events.ts'

/** How a service of a test differs from the usual one. */
export interface TestServiceOptions extends Partial<Omit<ServiceOptions, 'storeOf' | 'tokens'>> {
  /** A file or a URL. Default: a new SQLite file. */
  readonly db?: string
  /** The script of the model, or a model. */
  readonly script?: ScriptedOptions['script']
  /** The tools of the agent. */
  readonly tools?: NonNullable<AgentOptions['tools']>
}

/** A request of a test. */
export interface TestRequest {
  readonly method?: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Default: a token with all scopes. Null: none. */
  readonly token?: string | null
  readonly signal?: AbortSignal
}

/** A response of JSON. */
export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape of what it asked for.
  readonly body: any
  readonly text: string
}

/** A service that listens on a free port. */
export interface TestService extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly store: Store
  readonly db: string
  readonly token: string
  /** The OpenAPI document. */
  openApi(): Record<string, unknown>
  /** Makes a token. */
  tokenFor(...scopes: readonly TokenScope[]): Promise<string>
  /** Sends a request to a path below `/api/v1`, or to another absolute path after `//`. */
  call(path: string, request?: TestRequest): Promise<TestResponse>
  /** The same as a response that is not read yet. Events are compared with their schemas as they are read. */
  fetch(path: string, request?: TestRequest): Promise<Response>
  /** The socket. Closing it ends the service and keeps the store. */
  readonly listening: Listening
  close(): Promise<void>
}

/** Starts a service on a free port, with a store of its own. */
export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const { db, script, tools, ...others } = options
  const folder = mkdtempSync(join(tmpdir(), 'skein-service-'))
  const target = db ?? join(folder, 'conversations.db')
  const store = await openStore(target)
  const stores = new Map<string, Promise<Store>>([['default', Promise.resolve(store)]])
  const storeOf = (tenant: string) => {
    const known = stores.get(tenant) ?? openStore(target, { tenant })
    stores.set(tenant, known)
    return known
  }
  const agents = new Map<string, Promise<ReturnType<typeof createAgent>>>()
  const agentOf = (tenant: string) => {
    const known =
      agents.get(tenant) ??
      storeOf(tenant).then(own =>
        createAgent({ store: own, model: scripted(script ? { script } : {}), ...(tools && { tools }) }),
      )
    agents.set(tenant, known)
    return known
  }
  const service = createService({ storeOf, tokens: store, agentOf, ...others })
  const listening: Listening = await listen(service, { port: 0 })
  const url = `http://127.0.0.1:${listening.port}`
  const token = await addToken(store, tokenScopes)
  const send = async (path: string, request: TestRequest = {}) => {
    const { method, body, headers, token: own = token, signal } = request
    const target = path.startsWith('//') ? url + path.slice(1) : `${url}/api/v1${path}`
    const response = await fetch(target, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(own !== null && { authorization: `Bearer ${own}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    return checkedEvents(target, response)
  }
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await listening.close()
    for (const agent of agents.values()) await (await agent).close()
    for (const opened of stores.values()) await (await opened).close()
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    url,
    port: listening.port,
    listening,
    store,
    db: target,
    token,
    openApi: () => service.openApi() as Record<string, unknown>,
    tokenFor: (...scopes) => addToken(store, scopes),
    fetch: send,
    async call(path, request) {
      const response = await send(path, request)
      const text = await response.text()
      const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== ''
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: isJson && !text.includes('\n{') ? JSON.parse(text) : null,
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Stores a token of the store's tenant and returns its secret. */
export async function addToken(
  store: Pick<Store, 'addToken'>,
  scopes: readonly TokenScope[],
  expiresAt?: Date,
): Promise<string> {
  const secret = `skein_${randomBytes(32).toString('base64url')}`
  const hash = createHash('sha256').update(secret).digest('hex')
  await store.addToken({ hash, name: 'test', scopes, ...(expiresAt && { expiresAt }) })
  return secret
}
