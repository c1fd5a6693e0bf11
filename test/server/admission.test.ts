import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService, listen } from '../../src/server/index.ts'
import { addToken, startService, type TestService } from './harness.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

/** Sends a request with headers that `fetch` does not allow to set. */
async function raw(path: string, headers: Record<string, string>) {
  const sent = request({ host: '127.0.0.1', port: service.port, path, headers })
  sent.end()
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode as number, text }
}

describe('host and origin', () => {
  const path = '/api/v1/stats'
  const token = () => ({ authorization: `Bearer ${service.token}` })

  it('refuses a foreign host with 421 and names the setting (R18)', async () => {
    const { status, text } = await raw(path, { ...token(), host: 'evil.example:4717' })
    expect(status).toBe(421)
    expect(JSON.parse(text)).toMatchObject({
      code: 'unknown_host',
      hint: expect.stringContaining('server.public_url'),
    })
    expect((await raw('/metrics', { ...token(), host: 'evil.example' })).status).toBe(421)
  })
  it('answers for every loopback name, on any port', async () => {
    for (const host of ['localhost', '127.0.0.1:1', '[::1]:4717'])
      expect((await raw(path, { ...token(), host })).status).toBe(200)
  })
  it('refuses a foreign origin with 403, and sends no CORS headers', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://localhost:1', 'no url']) {
      const response = await service.call('/stats', { headers: { origin } })
      expect(response.status, origin).toBe(403)
      expect(response.body.code).toBe('foreign_origin')
    }
    const own = await service.call('/stats', { headers: { origin: service.url } })
    expect(own.status).toBe(200)
    expect(own.headers.get('access-control-allow-origin')).toBeNull()
  })
  it('answers for the host of public_url and for further hosts', async () => {
    await using other = await startService({ publicUrl: 'https://skein.example.org', hosts: ['inner'] })
    const { token: own, port } = other
    for (const [host, origin] of [
      ['skein.example.org', 'https://skein.example.org'],
      ['inner', undefined],
    ]) {
      const headers = { authorization: `Bearer ${own}`, host: host!, ...(origin && { origin }) }
      const sent = request({ host: '127.0.0.1', port, path, headers })
      sent.end()
      const [response] = await once(sent, 'response')
      response.resume()
      expect(response.statusCode).toBe(200)
    }
  })
})

describe('tokens', () => {
  it('refuses requests without a token, with a malformed and with an unknown one', async () => {
    for (const authorization of [
      undefined,
      'Basic YTpi',
      'Bearer',
      'Bearer two words',
      'Bearer skein_nothing',
    ]) {
      const { status, body, headers } = await service.call('/stats', {
        token: null,
        headers: authorization === undefined ? {} : { authorization },
      })
      expect(status, authorization).toBe(401)
      expect(body).toMatchObject({ code: 'unauthorized', status: 401, success: false })
      expect(headers.get('www-authenticate')).toContain('Bearer')
    }
  })
  it('refuses a token in the URL, also a valid one', async () => {
    for (const name of ['token', 'access_token']) {
      const { status, body } = await service.call(`/stats?${name}=${service.token}`)
      expect(status).toBe(400)
      expect(JSON.stringify(body)).not.toContain(service.token)
    }
  })
  it('refuses an expired and a revoked token', async () => {
    const expired = await addToken(service.store, ['read'], new Date(Date.now() - 1_000))
    expect((await service.call('/stats', { token: expired })).status).toBe(401)
    let now = Date.now()
    await using timed = await startService({ now: () => now })
    const secret = await timed.tokenFor('read')
    expect((await timed.call('/stats', { token: secret })).status).toBe(200)
    const { items } = await timed.store.listTokens()
    // The other one has all scopes. Tokens of the same millisecond are in any order.
    await timed.store.revokeToken(items.find(({ scopes }) => scopes.length === 1)!.id)
    now += 2_001
    expect((await timed.call('/stats', { token: secret })).status).toBe(401)
  })
  it('names the missing scope', async () => {
    const token = await service.tokenFor('write')
    const { status, body } = await service.call('/stats', { token })
    expect(status).toBe(403)
    expect(body).toMatchObject({ code: 'wrong_scope', scope: 'read' })
  })
  it('answers 429 after 20 wrong tokens in a minute, and lets known tokens pass (R18)', async () => {
    let now = Date.now()
    await using other = await startService({ now: () => now })
    expect((await other.call('/stats')).status).toBe(200)
    for (let i = 0; i < 20; i++) {
      expect((await other.call('/stats', { token: `skein_wrong${i}` })).status).toBe(401)
    }
    const flooded = await other.call('/stats', { token: 'skein_wrong' })
    expect(flooded.status).toBe(429)
    expect(Number(flooded.headers.get('retry-after'))).toBeGreaterThan(0)
    const fresh = await other.tokenFor('read')
    expect((await other.call('/stats', { token: fresh })).status).toBe(429)
    expect((await other.call('/stats')).status).toBe(200)
    now += 61_000
    expect((await other.call('/stats', { token: fresh })).status).toBe(200)
  })
})

describe('bodies', () => {
  const send = (body: unknown, headers = {}) => service.call('/conversations', { body, headers })

  it('refuses invalid UTF-8, broken JSON, deep JSON and other media types', async () => {
    const bytes = await fetch(`${service.url}/api/v1/conversations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
      body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    })
    expect(bytes.status).toBe(400)
    expect(await bytes.json()).toMatchObject({
      code: 'invalid',
      field: 'body',
      detail: expect.stringMatching(/UTF-8/),
    })
    expect((await send('{')).body).toMatchObject({ status: 400, code: 'invalid' })
    const deep = `{"metadata":${'['.repeat(10_000)}${']'.repeat(10_000)}}`
    expect((await send(deep)).body).toMatchObject({ status: 400, code: 'invalid', field: 'body' })
    expect((await send('{}', { 'content-type': 'text/plain' })).status).toBe(415)
    const quoted = { metadata: { text: `${'['.repeat(1_000)}"\\` } }
    expect((await send(quoted)).status).toBe(201)
  })
  it('refuses more than the limit with 413, announced or not (R18)', async () => {
    await using small = await startService({ limits: { bodyBytes: 1_000 } })
    const body = { title: 'x'.repeat(2_000) }
    expect((await small.call('/conversations', { body })).body).toMatchObject({ status: 413, limit: 1_000 })
    const unannounced = await fetch(`${small.url}/api/v1/conversations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${small.token}`, 'content-type': 'application/json' },
      body: new Blob([JSON.stringify(body)]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(unannounced.status).toBe(413)
  })
  it('ends a body that arrives too slowly', async () => {
    await using slow = await startService({ limits: { bodyMs: 100 } })
    const socket = connect(slow.port, '127.0.0.1')
    const head = [
      'POST /api/v1/conversations HTTP/1.1',
      `Host: 127.0.0.1:${slow.port}`,
      `Authorization: Bearer ${slow.token}`,
      'Content-Type: application/json',
      'Content-Length: 100',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n{`)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /)
    socket.destroy()
  })
  it('ends a request whose headers arrive byte by byte', async () => {
    const own = createService({ storeOf: async () => service.store, tokens: service.store })
    const slow = await listen(own, { port: 0, headersMs: 300 })
    const socket = connect(slow.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nx-slow: ')
    const drip = setInterval(() => socket.write('a'), 20)
    const [answer] = await once(socket, 'data')
    clearInterval(drip)
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 /)
    socket.destroy()
    await slow.close()
  })
  it('refuses 10,000 headers', async () => {
    const socket = connect(service.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${'x-a: b\r\n'.repeat(10_000)}\r\n`)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 431 /)
    socket.destroy()
  })
})

describe('addresses', () => {
  it('answers health without a token and reveals nothing', async () => {
    for (const [path, text] of [
      ['//healthz', 'ok\n'],
      ['//readyz', 'ready\n'],
    ]) {
      const response = await service.call(path!, { token: null })
      expect([response.status, response.text]).toEqual([200, text])
    }
  })
  it('is not ready without a store, and alive all the same', async () => {
    await using other = await startService()
    await other.store.close()
    expect((await other.call('//readyz', { token: null })).status).toBeGreaterThanOrEqual(500)
    expect((await other.call('//healthz', { token: null })).status).toBe(200)
  })
  it('answers unknown addresses and methods with problem details', async () => {
    expect((await service.call('/nothing')).body).toMatchObject({ status: 404, code: 'no_route' })
    const wrong = await service.call('/conversations', { method: 'PUT' })
    expect(wrong.body).toMatchObject({ status: 405, code: 'wrong_method' })
    expect(wrong.headers.get('allow')).toBe('GET, POST')
  })
  it('keeps a request id, and makes one', async () => {
    const kept = await service.call('/nothing', { headers: { 'x-request-id': 'abc-1' } })
    expect([kept.headers.get('x-request-id'), kept.body.request_id]).toEqual(['abc-1', 'abc-1'])
    const made = await service.call('/nothing', { headers: { 'x-request-id': 'a b' } })
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
  it('refuses unknown parameters', async () => {
    expect((await service.call('/stats?x=1')).body).toMatchObject({ status: 400, field: 'x' })
    expect((await service.call('/conversations?titel=x')).body).toMatchObject({ status: 400, field: 'titel' })
  })
})
