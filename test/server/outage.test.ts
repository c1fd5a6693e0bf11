import { expect, it } from 'vitest'
import { startOwnPostgres } from '../support/postgres.ts'
import { startService } from './harness.ts'

it('stays up while PostgreSQL is away, says so, and recovers by itself (R24)', async () => {
  const postgres = await startOwnPostgres()
  try {
    await using service = await startService({ db: postgres.url, limits: { tokenCacheMs: 3_600_000 } })
    const { body } = await service.call('/conversations', { body: { title: 'Before' } })
    const path = `/conversations/${body.id}`
    const append = {
      body: { messages: [{ role: 'user', content: 'x' }] },
      headers: { 'idempotency-key': 'k' },
    }
    await postgres.away()
    const status = async () => (await service.call('//readyz', { token: null })).status
    await expect.poll(status, { timeout: 20_000 }).toBe(503)
    expect((await service.call('//healthz', { token: null })).status).toBe(200)
    const refused = await service.call(`${path}/messages`, append)
    expect(refused.body).toMatchObject({ status: 503, success: false })
    expect(['unavailable', 'outcome_unknown']).toContain(refused.body.code)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.text).not.toMatch(/ECONN|socket|\/tmp|skein_test/)
    await postgres.back()
    await expect.poll(status, { timeout: 5_000 }).toBe(200)
    expect((await service.call(`${path}/messages`, append)).status).toBe(201)
  } finally {
    await postgres.stop()
  }
}, 120_000)
