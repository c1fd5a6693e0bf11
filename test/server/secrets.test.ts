import { createHash } from 'node:crypto'
import pino, { type Logger } from 'pino'
import { expect, it, vi } from 'vitest'
import { MissingKeyError } from '../../src/core/errors.ts'
import type { Store } from '../../src/core/ports.ts'
import { createService, listen } from '../../src/server/index.ts'
import { openStore } from '../../src/stores/open.ts'
import { startService, type TestService } from './harness.ts'

// 40 kinds of secrets in the form that they have, each with a part of its own that no other text contains.
const kinds: readonly ((own: string) => string)[] = [
  ...[
    'sk-proj-',
    'sk-ant-api03-',
    'sk-or-v1-',
    'sk_live_',
    'rk_live_',
    'ya29.',
    'gsk_',
    'xai-',
    'hf_',
    'r8_',
  ],
  ...['pplx-', 'nvapi-', 'ghp_', 'gho_', 'ghu_', 'ghs_', 'github_pat_', 'glpat-', 'npm_', 'xoxb-', 'xoxp-'],
  ...['xapp-1-A0', 'csk-', 'fw_', 'dop_v1_', 'SG.', 'key-', 'shpat_', 'sq0atp-', 'EAACEdEose0', 'pypi-AgEI'],
  ...['AIzaSyD4', 'skein_', 'password=', 'x-api-key: ', 'Bearer '],
].map(beginning => (own: string) => `${beginning}${own}w9KpLm3`)
const secrets = [
  ...kinds,
  (own: string) => `AKIA${own.toUpperCase()}`,
  (own: string) => `eyJhbGciOiJIUzI1NiJ9.${own}.c2ln`,
  (own: string) => `postgres://ada:${own}@db.example.org/x`,
  (own: string) => `-----BEGIN PRIVATE KEY-----\n${own}\n-----END PRIVATE KEY-----`,
].map((form, n) => {
  const own = `q7Zx${String(n).padStart(2, '0')}Hu5Tb8`
  return { own, text: form(own) }
})

/** The routes whose responses are sent while they are read. */
const streams = [
  '/api/v1/conversations/{id}',
  '/api/v1/conversations/{id}/export',
  '/api/v1/export',
  '/api/v1/export',
  '/api/v1/follow',
]

/** Serves the store such that it fails with a text in the middle of every kind of streamed response. Returns
 *  the lines that went to the console. */
async function breakOff(
  { store, token }: TestService,
  text: string,
  log: Logger,
): Promise<readonly unknown[]> {
  const { conversation: made, branch } = await store.create()
  const { id } = made
  const long = { role: 'user', content: 'x'.repeat(1_000) } as const
  await store.append(branch, null, Array(120).fill(long))
  const failure = () => new Error(`query failed: ${text}`, { cause: new Error(text) })
  let reads = 0
  const failing: Partial<Store> = {
    listPath: (...args) => (++reads > 1 ? Promise.reject(failure()) : store.listPath(...args)),
    async *readRecords(...args) {
      for await (const record of store.readRecords(...args)) {
        yield record
        // Enough for a first piece of the body.
        if (record.kind === 'message' && record.seq === 100) throw failure()
      }
    },
    async *follow(...args) {
      for await (const event of store.follow(...args)) {
        yield event
        throw failure()
      }
    },
  }
  const broken = new Proxy(store, {
    get: (target, name) => Reflect.get(name in failing ? failing : target, name),
  })
  const service = createService({ storeOf: async () => broken, tokens: store, log })
  const listening = await listen(service, { port: 0 })
  const printed: unknown[] = []
  const spies = (['error', 'info', 'warn', 'log'] as const).map(name =>
    vi.spyOn(console, name).mockImplementation((...words) => void printed.push(words)),
  )
  const headers = { authorization: `Bearer ${token}` }
  const conversation = `/conversations/${id}`
  for (const path of [conversation, `${conversation}/export`, '/export', `/follow?conversation=${id}`]) {
    reads = 0
    const response = await fetch(`http://127.0.0.1:${listening.port}/api/v1${path}`, { headers })
    expect([path, response.status]).toEqual([path, 200])
    const ending = await response.text().catch((error: Error) => error.message)
    expect([path, ending.slice(-20)]).toEqual([path, 'terminated'])
  }
  // Mounted in another server, the stream ends with an error that a server may print.
  const direct = await service.fetch(new Request(`http://localhost/api/v1/export`, { headers }))
  const error: Error = await direct.text().catch(error => error)
  for (const word of [error.message, error.stack, String(error.cause)])
    expect(word).not.toMatch(/query failed|\.ts:/)
  expect(error.message).toContain(direct.headers.get('x-request-id'))
  await listening.close()
  for (const spy of spies) spy.mockRestore()
  return printed
}

it('writes no secret to logs, errors and metrics (R20)', async () => {
  expect(secrets).toHaveLength(40)
  let log = ''
  const stream = {
    write(line: string) {
      log += line
    },
  }
  await using service = await startService({
    log: pino({ level: 'debug' }, stream),
    script: request => {
      const last = JSON.stringify(request.messages.at(-1))
      return /please fail/.test(last) ? { fail: 401, message: `wrong key in ${last}` } : 'Fine.'
    },
  })
  let answers = ''
  const note = ({ text }: { text: string }) => {
    answers += text
  }
  const { conversation } = await service.store.create()
  const path = `/conversations/${conversation.id}`
  for (const { text: secret } of secrets) {
    const messages = [{ role: 'user', content: `my secret is ${secret}` }]
    await service.call(`${path}/messages`, { body: { messages } })
    // Refusals of every kind: what they say about the request must not repeat its contents.
    note(await service.call('/stats', { token: secret.replaceAll(/[^\w.-]/g, '') }))
    note(await service.call(`/stats?token=${encodeURIComponent(secret)}`))
    note(await service.call(`${path}/messages`, { body: { messages: [{ role: secret, content: secret }] } }))
    note(await service.call(`${path}/messages`, { body: `{"messages": "${secret}` }))
    note(await service.call('/conversations', { body: { title: secret, tags: 5 } }))
    note(await service.call(`${path}/turns`, { body: { content: secret, model: 7 } }))
    const asked = await service.call(`${path}/turns`, { body: { content: `please fail ${secret}` } })
    const turn = () => service.store.findTurn(conversation.id, asked.body.turn)
    await expect.poll(async () => (await turn())?.status).toBe('failed')
    // The text of a failed turn, which a provider wrote.
    const headers = { accept: 'text/event-stream' }
    const failed = await service.call(`${path}/turns`, {
      body: { content: `please fail ${secret}` },
      headers,
    })
    expect(failed.text).toMatch(/event: failed\ndata: .*"code":"model_failed".*wrong key in/)
    note(failed)
  }
  const printed = await breakOff(service, secrets[0]!.text, pino({ level: 'debug' }, stream))
  expect(printed).toEqual([])
  const broken = log.split('\n').filter(line => line.includes('"msg":"response broke off"'))
  expect(broken.map(line => JSON.parse(line).route).toSorted()).toEqual(streams.toSorted())
  const metrics = (await service.call('//metrics')).text
  expect(log.split('\n').length).toBeGreaterThan(200)
  const has = (text: string) =>
    secrets.filter(({ own }) => text.toLowerCase().includes(own.toLowerCase())).map(one => one.text)
  expect([has(log), has(metrics), has(answers)]).toEqual([[], [], []])
  expect(log).not.toContain(service.token)
})

it('never answers with a stack, SQL or a path, and logs failures without their messages', async () => {
  let log = ''
  const stream = {
    write(line: string) {
      log += line
    },
  }
  await using service = await startService({ log: pino({ level: 'info' }, stream) })
  const { conversation } = await service.store.create()
  await service.store.close()
  const { status, text } = await service.call(`/conversations/${conversation.id}/structure`)
  expect(status).toBeGreaterThanOrEqual(500)
  expect(text).not.toMatch(/ at |select |\.ts:|\/tmp\/|conversations\.db/i)
  const [line] = log.split('\n').filter(one => one.includes('"level":50'))
  expect(JSON.parse(line!)).toMatchObject({ status, msg: 'request failed', error: { code: 'unavailable' } })
  expect(line).not.toMatch(/"message"|"at"/)
})

it('logs a missing key as a warning, a shutdown as nothing special, and only a fault with its place', async () => {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  await using store = await openStore(':memory:')
  const secret = 'skein_test'
  const hash = createHash('sha256').update(secret).digest('hex')
  await store.addToken({ hash, name: 'test', scopes: ['read', 'ask'] })
  const { conversation } = await store.create()
  let failure: Error = new MissingKeyError('anthropic', 'ANTHROPIC_API_KEY')
  const agentOf = () => Promise.reject(failure)
  const service = createService({ storeOf: async () => store, tokens: store, agentOf, log })
  const send = async (path: string, body?: string) => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const request = { headers, ...(body !== undefined && { method: 'POST', body }) }
    const { status } = await service.fetch(new Request(`http://localhost${path}`, request))
    return { status, line: JSON.parse(lines.at(-1)!) }
  }
  const asked = await send(`/api/v1/conversations/${conversation.id}/turns`, '{"content":"Hello"}')
  expect(asked).toMatchObject({ status: 503, line: { level: 40, code: 'missing_key' } })
  expect(asked.line.error).toBeUndefined()
  failure = new TypeError('a fault of ours')
  const failed = await send(`/api/v1/conversations/${conversation.id}/turns`, '{"content":"Hello"}')
  const error = { name: 'TypeError', at: [expect.stringContaining('secrets.test.ts')] }
  expect(failed).toMatchObject({ status: 500, line: { level: 50 } })
  expect({ ...failed.line.error, at: failed.line.error.at.slice(0, 1) }).toEqual(error)
  await service.close()
  const ready = await send('/readyz')
  expect(ready).toMatchObject({ status: 503, line: { level: 30, code: 'shutting_down' } })
  expect(ready.line.error).toBeUndefined()
})

it('counts requests, store operations, conversations, tokens and turns', async () => {
  await using service = await startService({
    script: [{ text: 'Hi.', usage: { input: 7, output: 3, cost: 0.5 } }],
  })
  const found = await service.call('/keys/bot', { method: 'PUT', body: {} })
  await service.call('/keys/bot', { method: 'PUT', body: {} })
  const { id } = found.body.conversation
  const { body } = await service.call(`/conversations/${id}/turns`, { body: { content: 'Hello' } })
  await expect.poll(async () => (await service.store.findTurn(id, body.turn))?.status).toBe('complete')
  // The end of a turn can be read from the store shortly before the service knows it.
  await expect.poll(async () => (await service.call('//metrics')).text).toContain('\nskein_open_turns 0\n')
  const { text, headers } = await service.call('//metrics')
  expect(headers.get('content-type')).toContain('text/plain')
  for (const line of [
    'skein_conversations 1',
    'skein_messages 2',
    'skein_tokens{model="scripted",kind="input"} 7',
    'skein_tokens{model="scripted",kind="output"} 3',
    'skein_cost_dollars{model="scripted"} 0.5',
    'skein_resumes_total{outcome="created"} 1',
    'skein_resumes_total{outcome="found"} 1',
    'skein_open_turns 0',
    'skein_followers 0',
    'skein_expirations_total 0',
    'skein_http_requests_total{method="PUT",route="/api/v1/keys/{key}",status="201"} 1',
    'skein_store_seconds_count{operation="findOrCreate"} 2',
  ])
    expect(text.split('\n')).toContain(line)
  const token = await service.tokenFor('read', 'write', 'ask')
  expect((await service.call('//metrics', { token })).status).toBe(403)
})

it('sweeps expired conversations of tasks, in one of several processes, and counts them (S0-12, S2-32, S2-58)', async () => {
  await using service = await startService({ sweepMs: 50, tenants: ['default'] })
  await using other = await startService({ db: service.db, sweepMs: 50, tenants: ['default'] })
  const expired = () => service.store.create({ task: 't', expiresAt: new Date(Date.now() - 1_000) })
  const ids = (await Promise.all([expired(), expired(), expired()])).map(
    ({ conversation }) => conversation.id,
  )
  const trashed = async () => (await service.store.listConversations({ trashed: true })).items.length
  await expect.poll(trashed, { timeout: 10_000 }).toBe(ids.length)
  const count = async (one: typeof service) =>
    Number(
      /^skein_expirations_total (\d+)$/m.exec(
        (await one.call('//metrics', { token: service.token })).text,
      )![1],
    )
  await expect.poll(async () => (await count(service)) + (await count(other))).toBe(ids.length)
})
