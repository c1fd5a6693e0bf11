import { expect, it, onTestFinished } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { type RetryTrace, retryChannel } from '../../../src/system/debug.ts'
import { say } from '../../../src/testing/contract/build.ts'
import { freshDatabase, openPool } from './database.ts'

/** Waits until a connection of the database waits for a lock of another one. */
async function untilBlocked(pool: ReturnType<typeof openPool>): Promise<void> {
  const count = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  while ((await pool.query(count)).rows[0].n === 0);
}

async function lockedStore() {
  const url = await freshDatabase()
  const pool = openPool(url)
  const writer = await openPostgresStore(url, { indexing: 'manual' })
  const { branch } = await writer.create()
  await writer.append(branch, null, [say('heron')])
  const client = await pool.connect()
  await client.query('BEGIN')
  await client.query('SELECT FROM skein.conversations FOR UPDATE')
  return { url, pool, client, writer }
}

it('does not make close() wait for a transaction that has locked a conversation', async () => {
  const { url, pool, client, writer } = await lockedStore()
  const store = await openPostgresStore(url)
  // A search starts the background work.
  expect((await store.search('heron')).items).toHaveLength(1)
  await untilBlocked(pool)
  await store.close()
  await client.query('ROLLBACK')
  client.release()
  await writer.close()
})

it('waits for such a transaction as long as it takes while the store is open', async () => {
  const { client, writer } = await lockedStore()
  const waitedTwice = new Promise<void>(resolve => {
    const listen = (message: unknown) => {
      const { what, attempt } = message as RetryTrace
      if (what === 'lock' && attempt === 2) resolve()
    }
    retryChannel.subscribe(listen)
    onTestFinished(() => void retryChannel.unsubscribe(listen))
  })
  const indexed = writer.indexSearch()
  await waitedTwice
  await client.query('ROLLBACK')
  client.release()
  expect(await indexed).toBe(1)
  await writer.close()
})
