import { setImmediate } from 'node:timers/promises'
import { Pool, type PoolClient } from 'pg'
import { expect, it, vi } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { freshDatabase } from './database.ts'

const url = await freshDatabase()

it('survives a connection that breaks in the moment in which the pool hands it out', async () => {
  const clients: PoolClient[] = []
  const connect = vi.spyOn(Pool.prototype, 'connect')
  const store = await openPostgresStore(url, { indexing: 'manual', pool: { max: 1 } })
  const pool = connect.mock.contexts[0] as Pool
  connect.mockRestore()
  pool.on('acquire', client => clients.push(client))
  const { conversation } = await store.create()
  await setImmediate() // the connection is in the pool again
  // The pool hands the connection out in the next tick, and its socket reports the error right after that,
  // before the store can listen to it.
  const read = store.getConversation(conversation.id)
  const { stream } = (clients[0] as unknown as { connection: { stream: { destroy(error: Error): void } } })
    .connection
  stream.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  await expect(read).rejects.toMatchObject({ code: 'unavailable' })
  expect((await store.getConversation(conversation.id)).id).toBe(conversation.id)
  await store.close()
})
