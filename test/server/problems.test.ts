import { describe, expect, it } from 'vitest'
import { PreconditionFailedError } from '../../src/core/conditional-writer.ts'
import {
  AmbiguousIdError,
  BusyError,
  ConflictError,
  ContextLengthError,
  CorruptError,
  type ErrorCode,
  ExpiredError,
  InvalidError,
  KeyReusedError,
  MisconfiguredError,
  MissingKeyError,
  ModelError,
  NotFoundError,
  OutcomeUnknownError,
  OwnedError,
  ReadOnlyError,
  SchemaTooNewError,
  type SkeinError,
  StorageFullError,
  UnavailableError,
} from '../../src/core/errors.ts'
import { conversationId, messageId } from '../../src/core/ids.ts'
import { type HttpErrorCode, httpErrors } from '../../src/server/http/http-error.ts'
import { statusOf } from '../../src/server/http/problem.ts'
import { startService, type TestService } from './harness.ts'

/** Parts of messages that must not reach a client. */
const inner = '/var/lib/skein.db near "SELECT"'
const conversation = conversationId('0b9f6a4e-6f0e-4a53-9b62-5d4f4f0f4b10')
const message = messageId('a'.repeat(32))
const holder = { host: 'vm/312b4593', boot: 'b', pid: 17_061, startedAt: 0 }
const lease = new Date('2026-01-02T03:04:05Z')

interface Expected {
  readonly error: SkeinError
  readonly status: number
  /** The header Retry-After. Null: waiting does not help. */
  readonly wait: string | null
  readonly members?: object
  /** Whether the message is replaced by the title. */
  readonly isInternal?: true
}

/** Every code of the library. A new one does not compile without an entry. */
const table: Readonly<Record<ErrorCode, Expected>> = {
  invalid: {
    error: new InvalidError('title', 'must be text', 3),
    status: 400,
    wait: null,
    members: { field: 'title', position: 3 },
  },
  ambiguous_id: {
    error: new AmbiguousIdError('0b9f6a', [{ kind: 'conversation', id: conversation }]),
    status: 400,
    wait: null,
    members: { prefix: '0b9f6a', candidates: [{ kind: 'conversation', id: conversation }] },
  },
  not_found: {
    error: new NotFoundError('conversation', conversation, { trashed: true }),
    status: 404,
    wait: null,
    members: { kind: 'conversation', id: conversation, trashed: true },
  },
  conflict: {
    error: new ConflictError('main', null, message),
    status: 409,
    wait: null,
    members: { branch: 'main', expected_head: null, actual_head: message },
  },
  busy: {
    error: new BusyError('branch "main"', holder, lease),
    status: 409,
    wait: '1',
    members: {
      lease_until: lease.toISOString(),
      detail: `branch "main" is held until ${lease.toISOString()}`,
    },
  },
  expired: { error: new ExpiredError('the lease has expired'), status: 409, wait: null },
  owned: {
    error: new OwnedError(conversation, 'claude-code'),
    status: 409,
    wait: null,
    members: { conversation, owner: 'claude-code' },
  },
  precondition_failed: {
    error: new PreconditionFailedError(7),
    status: 412,
    wait: null,
    members: { version: 7 },
  },
  key_reused: {
    error: new KeyReusedError('k', 'the key is taken'),
    status: 422,
    wait: null,
    members: { key: 'k' },
  },
  context_length: {
    error: new ContextLengthError('too long', { limit: 5, needed: 6 }),
    status: 422,
    wait: null,
    members: { limit: 5, needed: 6 },
  },
  corrupt: { error: new CorruptError(inner), status: 500, wait: null, isInternal: true },
  misconfigured: {
    error: new MisconfiguredError('tables', inner, { hint: inner }),
    status: 500,
    wait: null,
    isInternal: true,
  },
  model_failed: {
    error: new ModelError('scripted', 'overloaded', { status: 529, retryable: true, retryAfterMs: 6_500 }),
    status: 502,
    wait: '7',
    members: { model: 'scripted', model_status: 529, retryable: true },
  },
  unavailable: { error: new UnavailableError(inner), status: 503, wait: '2', isInternal: true },
  outcome_unknown: { error: new OutcomeUnknownError(inner), status: 503, wait: '2', isInternal: true },
  read_only: { error: new ReadOnlyError(inner), status: 503, wait: null, isInternal: true },
  schema_too_new: {
    error: new SchemaTooNewError(9, 8),
    status: 503,
    wait: null,
    members: { found: 9, known: 8 },
  },
  missing_key: {
    error: new MissingKeyError('anthropic', 'ANTHROPIC_API_KEY'),
    status: 503,
    wait: null,
    members: { provider: 'anthropic', variable: 'ANTHROPIC_API_KEY' },
  },
  storage_full: { error: new StorageFullError(inner), status: 507, wait: null, isInternal: true },
}

/** A service whose agents cannot be opened, for a reason that a test sets. */
async function failing(): Promise<TestService & { failure: unknown }> {
  let failure: unknown = null
  const service = await startService({ agentOf: () => Promise.reject(failure) })
  return Object.defineProperty(service as TestService & { failure: unknown }, 'failure', {
    set: value => {
      failure = value
    },
  })
}

async function ask(service: TestService, id: string) {
  return service.call(`/conversations/${id}/turns`, { body: { content: 'Hello' } })
}

describe('problem details', () => {
  it('have a status, the facts and a next step for every error of the library', async () => {
    await using service = await failing()
    const { id } = (await service.store.create()).conversation
    expect(Object.keys(table).toSorted()).toEqual(Object.keys(statusOf).toSorted())
    for (const [code, { error, status, wait, members, isInternal }] of Object.entries(table)) {
      service.failure = error
      const answer = await ask(service, id)
      const { title } = statusOf[code as ErrorCode]
      expect([code, answer.status, answer.headers.get('retry-after')]).toEqual([code, status, wait])
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      expect(answer.body).toMatchObject({
        type: `urn:skein:error:${code}`,
        title,
        status,
        code,
        request_id: answer.headers.get('x-request-id'),
        success: false,
        message: answer.body.detail,
        ...(isInternal && { detail: title }),
        ...members,
      })
      expect(answer.text).not.toMatch(/skein\.db|SELECT|17061|312b4593| at /)
      // The messages of these two name the next step themselves.
      if (code !== 'not_found' && code !== 'model_failed')
        expect(answer.body.hint, code).toMatch(/^[A-Z].{10}/)
    }
    service.failure = new TypeError(inner)
    const unknown = await ask(service, id)
    expect(unknown.body).toMatchObject({ status: 500, code: 'failure', detail: 'The service failed' })
    expect(unknown.text).not.toMatch(/skein\.db|SELECT/)
    expect(unknown.headers.get('retry-after')).toBeNull()
  })

  it('name the next step for every refusal of a request', async () => {
    await using service = await startService({
      limits: { bodyBytes: 100, bodyMs: 50, wrongTokens: 3, maxTurns: 0 },
    })
    const { id } = (await service.store.create()).conversation
    const blob = await bigBlob(service)
    const call = (path: string, request: Parameters<TestService['call']>[1] = {}) =>
      service.call(path, request)
    const slow = new ReadableStream({
      start: controller => controller.enqueue(new TextEncoder().encode('{')),
    })
    const read = await service.tokenFor('read')
    const refused: Readonly<
      Record<Exclude<HttpErrorCode, 'failure' | 'no_models' | 'shutting_down'>, unknown>
    > = {
      token_in_url: call('/stats?token=x'),
      unauthorized: call('/stats', { token: null }),
      wrong_scope: call('/conversations', { body: {}, token: read }),
      foreign_origin: call('/stats', { headers: { origin: 'https://evil.example' } }),
      no_route: call('/nope'),
      wrong_method: call('/stats', { method: 'DELETE' }),
      too_slow: fetch(`${service.url}/api/v1/conversations`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
        body: slow,
        duplex: 'half',
      } as RequestInit).then(async response => ({ status: response.status, body: await response.json() })),
      too_large: call('/conversations', { body: { title: 'x'.repeat(200) } }),
      wrong_media_type: call('/conversations', { body: 'a=b', headers: { 'content-type': 'text/html' } }),
      wrong_range: call(`/blobs/${blob}`, { headers: { range: 'bytes=900000-900001' } }),
      unknown_host: unknownHost(service),
      too_many_requests: call(`/conversations/${id}/turns`, { body: { content: 'x' } }),
    }
    for (const [code, answer] of Object.entries(refused)) {
      const { status, body } = (await answer) as { status: number; body: { hint: string; code: string } }
      expect([body.code, status]).toEqual([code, httpErrors[code as HttpErrorCode].status])
      expect(body.hint, code).toMatch(/^[A-Z].{10}/)
    }
    for (let n = 0; n < 3; n++) await call('/stats', { token: 'wrong' })
    const flooded = await call('/stats', { token: 'wrong' })
    expect([flooded.status, flooded.body.hint]).toEqual([429, expect.stringMatching(/^Wait \d+ s\./)])
  })

  it('show addresses below /api only with a token, and name the OpenAPI document', async () => {
    await using service = await startService()
    for (const path of ['/nope', '/conversations/', '', '/stats']) {
      const method = path === '/stats' ? 'DELETE' : 'GET'
      expect([path, (await service.call(path, { token: null, method })).status]).toEqual([path, 401])
    }
    const hints = async (path: string) => (await service.call(path)).body.hint
    expect(await hints('/nope')).toContain('/api/v1/openapi.json')
    expect(await hints('//')).toContain('/api/v1/openapi.json')
    expect(await hints('/conversations/')).toBe('Leave out the slash at the end.')
    const form = { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    for (const [path, type] of [
      ['/conversations', 'application/json'],
      ['/import', 'application/x-ndjson'],
    ] as const) {
      const { status, body } = await service.call(path, form)
      expect([status, body.hint]).toEqual([415, expect.stringContaining(`curl: -H 'Content-Type: ${type}'`)])
    }
  })

  it('say how to stop the turn that holds the branch', async () => {
    const script = [{ text: 'one', gate: () => new Promise<void>(() => {}) }]
    await using service = await startService({ script, limits: { closeMs: 0 } })
    const { id } = (await service.store.create()).conversation
    const path = `/conversations/${id}/turns`
    const headers = { 'idempotency-key': 't/1' }
    await service.call(path, { body: { content: 'First' }, headers })
    const { body } = await service.call(path, { body: { content: 'Second' } })
    expect(body).toMatchObject({
      status: 409,
      code: 'busy',
      title: 'It is in use',
      lease_until: expect.any(String),
    })
    const [, address] = /DELETE (\S+)$/.exec(body.hint) ?? []
    expect((await service.call(`/${address}`, { method: 'DELETE' })).body.status).toBe('interrupted')
    // The Idempotency-Key of a request names its turn, too.
    const named = `${path}/${encodeURIComponent('t/1')}`
    expect((await service.call(named)).body).toMatchObject({ key: 'http:t/1', status: 'interrupted' })
    expect((await service.call(named, { method: 'DELETE' })).body.key).toBe('http:t/1')
  })
})

async function unknownHost({ url, token }: TestService) {
  const { request } = await import('node:http')
  const { promise, resolve } = Promise.withResolvers<{ status: number; body: unknown }>()
  const headers = { host: 'evil.example', authorization: `Bearer ${token}` }
  request(`${url}/api/v1/stats`, { headers }, async response => {
    let text = ''
    for await (const piece of response) text += piece
    resolve({ status: response.statusCode!, body: JSON.parse(text) })
  }).end()
  return promise
}

async function bigBlob({ store }: TestService): Promise<string> {
  const { branch } = await store.create()
  const { ids } = await store.append(branch, null, [{ role: 'user', content: 'x'.repeat(300_000) }])
  const [stored] = await store.getMessages(ids, { blobs: 'preview' })
  const [, hash] = /"([0-9a-f]{64})"/.exec(JSON.stringify(stored)) ?? []
  return hash!
}
