import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { home } from '../cli/skein.ts'
import { startServed } from '../server/served.ts'
import { startOwnPostgres } from '../support/postgres.ts'
import { note } from './note.ts'
import { size } from './size.ts'

/** How long PostgreSQL is away behind `skein serve`. */
const awayMs = size({ gate: 1_500, full: 60_000 })
const timeout = size({ gate: 120_000, full: 300_000 })
/** The gate shares its cores with other tests. */
const backWithinMs = size({ gate: 20_000, full: 5_000 })

it('stays up while PostgreSQL is away, refuses with 503, and is back within five seconds (R24)', {
  timeout,
}, async () => {
  using place = home()
  const postgres = await startOwnPostgres()
  try {
    await using server = await startServed(place, ['--db', postgres.url, '--log-level', 'silent'])
    const authorization = `Bearer ${server.token}`
    const call = async (path: string, init: RequestInit = {}) => {
      const began = performance.now()
      const headers = { authorization, 'content-type': 'application/json', ...init.headers }
      const response = await fetch(server.url + path, { ...init, headers })
      const text = await response.text()
      slowest = Math.max(slowest, performance.now() - began)
      return { status: response.status, retryAfter: response.headers.get('retry-after'), text }
    }
    let slowest = 0
    const created = await call('/api/v1/conversations', { method: 'POST', body: '{}' })
    const { id } = JSON.parse(created.text) as { id: string }
    const path = `/api/v1/conversations/${id}/messages`
    const append = (n: number) =>
      call(path, {
        method: 'POST',
        body: JSON.stringify({ messages: [{ role: 'user', content: `${n}` }] }),
        headers: { 'idempotency-key': `${n}` },
      })
    const stop = new AbortController()
    const seen: string[] = []
    const client = createClient({ url: server.url, token: server.token })
    const started = Promise.withResolvers<void>()
    const following = (async () => {
      for await (const { event } of client.follow({ conversations: [id], signal: stop.signal })) {
        if (event.type === 'branches') started.resolve()
        if (event.type === 'message')
          seen.push(event.message.blocks.map(block => (block as { text: string }).text).join(''))
      }
    })()
    await started.promise
    expect((await append(0)).status).toBe(201)

    await postgres.away()
    await expect.poll(async () => (await call('/readyz')).status, { timeout: 20_000 }).toBe(503)
    slowest = 0
    let refused = 0
    for (const until = performance.now() + awayMs; performance.now() < until; ) {
      expect((await call('/healthz')).status).toBe(200)
      expect((await call('/readyz')).status).toBe(503)
      for (const one of [await append(1), await call(path), await call('/api/v1/conversations')]) {
        expect(one.status).toBe(503)
        expect(Number(one.retryAfter)).toBeGreaterThan(0)
        expect(JSON.parse(one.text).code).toMatch(/^(unavailable|outcome_unknown)$/)
        expect(one.text).not.toMatch(/ECONN|socket|\/tmp|skein_test|\bat /)
        refused++
      }
      await pause(50)
    }
    const slowestRefusal = slowest
    expect(server.isUp()).toBe(true)
    await postgres.back()
    const back = performance.now()
    const isBack = async () => (await call('/readyz')).status === 200 && (await append(1)).status === 201
    await expect.poll(isBack, { timeout: backWithinMs, interval: 50 }).toBe(true)
    const took = performance.now() - back
    expect(took).toBeLessThan(backWithinMs)
    expect((await append(1)).status).toBe(201)
    expect((await append(2)).status).toBe(201)
    await expect.poll(() => seen, { timeout: 60_000 }).toEqual(['0', '1', '2'])
    note('away', `${awayMs / 1_000} s`)
    note('refused', refused)
    note('slowest refusal', `${Math.round(slowestRefusal)} ms`)
    note('back after', `${Math.round(took)} ms`)
    stop.abort()
    await following
  } finally {
    await postgres.stop()
  }
})
