import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { CompatConversationJson } from '../../src/api/compat.ts'
import type { MessageId } from '../../src/core/ids.ts'
import type { Store } from '../../src/core/ports.ts'
import { createService } from '../../src/server/index.ts'
import { createConversationCache, largestCachedBody } from '../../src/server/routes/conversation-cache.ts'
import { openStore } from '../../src/stores/open.ts'
import { home } from '../cli/skein.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { startService } from './harness.ts'
import { startServed } from './served.ts'

describe('the cache of conversations (S2-60)', () => {
  it.each(['SQLite', 'PostgreSQL'])(
    'never returns stale data while another process writes, on %s',
    { timeout: 60_000 },
    async engine => {
      using place = home()
      const isFile = engine === 'SQLite'
      const db = isFile ? join(place.cwd, 'shared.db') : await createDatabase(await postgresUrl())
      // The service is a process of its own, and this one writes.
      await using reader = await startServed(place, ['--db', db])
      await using writer = await openStore(db)
      const get = (path: string) =>
        fetch(reader.url + path, { headers: { authorization: `Bearer ${reader.token}` } })
      const { conversation, branch } = await writer.create()
      const writes = 20
      let head: MessageId | null = null
      for (let n = 1; n <= writes; n++) {
        head = (await writer.append(branch, head, [{ role: 'user', content: `message ${n}` }])).head
        for (const _ of [1, 2]) {
          const response = await get(`/api/v1/conversations/${conversation.id}`)
          const { messages } = (await response.json()) as CompatConversationJson
          expect(messages.at(-1)?.content).toBe(`message ${n}`)
        }
      }
      // The second of two reads was answered by the cache.
      const metrics = await (await get('/metrics')).text()
      expect(/skein_store_seconds_count\{operation="listPath"\} (\d+)/.exec(metrics)?.[1]).toBe(`${writes}`)
    },
  )
  it('would return stale data if its key had no version (negative control)', async () => {
    await using own = await startService()
    const unversioned: Store = { ...own.store, versionOf: async () => 1 }
    const service = createService({ storeOf: async () => unversioned, tokens: own.store })
    const { conversation, branch } = await own.store.create()
    const read = async () => {
      const headers = { authorization: `Bearer ${own.token}` }
      const url = `http://localhost/api/v1/conversations/${conversation.id}`
      const body = await (await service.fetch(new Request(url, { headers }))).text()
      return (JSON.parse(body) as CompatConversationJson).messages
    }
    expect(await read()).toEqual([])
    await own.store.append(branch, null, [{ role: 'user', content: 'Hi' }])
    expect(await read()).toEqual([])
    await service.close()
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
