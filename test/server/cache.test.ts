import { describe, expect, it } from 'vitest'
import { createConversationCache, largestCachedBody } from '../../src/server/routes/conversation-cache.ts'
import { startService } from './harness.ts'

describe('the cache of conversations (S2-60)', () => {
  it('never returns stale data while another process writes', async () => {
    await using reader = await startService()
    await using writer = await startService({ db: reader.db })
    const { conversation } = await reader.store.create()
    const path = `/conversations/${conversation.id}`
    for (let n = 1; n <= 20; n++) {
      const body = { messages: [{ role: 'user', content: `message ${n}` }] }
      expect((await writer.call(`${path}/messages`, { body })).status).toBe(201)
      for (const _ of [1, 2]) expect((await reader.call(path)).body.messages).toHaveLength(n)
    }
    await writer.call(path, { method: 'PATCH', body: { title: 'Changed' } })
    expect((await reader.call(path)).body.title).toBe('Changed')
  })
  it('answers the second request without reading the messages', async () => {
    await using service = await startService()
    const { conversation, branch } = await service.store.create()
    await service.store.append(branch, null, [{ role: 'user', content: 'Hi' }])
    const path = `/conversations/${conversation.id}`
    const first = await service.call(path)
    service.store.listPath = () => Promise.reject(new Error('must not be called'))
    await using cold = await startService({ db: service.db })
    expect((await cold.call(path)).body).toEqual(first.body)
    const metrics = async () => (await cold.call('//metrics')).text
    const reads = /skein_store_seconds_count\{operation="listPath"\} (\d+)/
    expect((await cold.call(path)).body).toEqual(first.body)
    expect(Number(reads.exec(await metrics())?.[1])).toBe(1)
  })
  it('keeps 100 bodies of at most 64 MB, and none above 4 MB', () => {
    const cache = createConversationCache()
    const key = (n: number) => ({ tenant: 'default', id: `${n}`, version: 1, part: '' })
    for (let n = 0; n < 101; n++) cache.set(key(n), 'x')
    expect([cache.get(key(0)), cache.get(key(1))]).toEqual([undefined, 'x'])
    cache.set(key(200), 'x'.repeat(largestCachedBody + 1))
    expect(cache.get(key(200))).toBeUndefined()
    const large = 'x'.repeat(largestCachedBody)
    for (let n = 300; n < 317; n++) cache.set(key(n), large)
    expect([cache.get(key(300)), cache.get(key(316))]).toEqual([undefined, large])
    expect(cache.get({ ...key(316), tenant: 'other' })).toBeUndefined()
    expect(cache.get({ ...key(316), version: 2 })).toBeUndefined()
  })
})
