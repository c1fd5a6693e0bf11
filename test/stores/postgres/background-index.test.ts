import { expect, it, onTestFinished } from 'vitest'
import type { ConversationId } from '../../../src/core/ids.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { type RetryTrace, retryChannel } from '../../../src/system/debug.ts'
import { appendTexts } from '../../../src/testing/contract/build.ts'
import { freshDatabase, openPool } from './database.ts'

/** Waits until a connection of the database waits for a lock of another one. */
async function untilBlocked(pool: ReturnType<typeof openPool>): Promise<void> {
  const count = `SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`
  while ((await pool.query(count)).rows[0].n === 0);
}

/** A store with two conversations, and a transaction of an application. */
async function storeBesideTransaction() {
  const url = await freshDatabase()
  const pool = openPool(url)
  const writer = await openPostgresStore(url, { indexing: 'manual' })
  const ids: ConversationId[] = []
  for (const bird of ['heron', 'egret']) {
    const { conversation, branch } = await writer.create()
    // More than any batch has.
    await appendTexts(writer, branch, ...Array.from({ length: 450 }, (_, i) => `${bird} ${i}`))
    ids.push(conversation.id)
  }
  const client = await pool.connect()
  await client.query('BEGIN')
  const lock = (id: ConversationId) =>
    client.query('SELECT FROM skein.conversations WHERE id = $1 FOR UPDATE', [id])
  const unindexed = async () => {
    const { rows } = await pool.query('SELECT id FROM skein.conversations WHERE indexed_seq < next_seq')
    return rows.map(({ id }) => id as ConversationId)
  }
  const end = async () => {
    await client.query('ROLLBACK')
    client.release()
  }
  return { url, pool, client, writer, ids: ids.toSorted(), lock, unindexed, end }
}

it('indexes the other conversations while a transaction has locked one, and that one afterwards', async () => {
  const { url, writer, ids, lock, unindexed, end } = await storeBesideTransaction()
  // The first one that the index would write.
  const [locked] = ids
  await lock(locked!)
  await using store = await openPostgresStore(url)
  // A search starts the background work.
  expect((await store.search('heron')).items).toHaveLength(20)
  while ((await unindexed()).length === 2);
  expect(await unindexed()).toEqual([locked])
  await end()
  while ((await unindexed()).length > 0);
  await writer.close()
})

it('has indexSearch wait for a locked conversation, and counts each message once', async () => {
  const { writer, ids, lock, unindexed, end } = await storeBesideTransaction()
  await lock(ids[0]!)
  const seen: number[] = []
  const indexed = writer.indexSearch({ onProgress: ({ messages }) => void seen.push(messages) })
  while ((await unindexed()).length === 2);
  expect(await unindexed()).toEqual([ids[0]])
  const stop = new AbortController()
  const stopped = writer.indexSearch({ signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(stopped).rejects.toThrow('enough')
  await end()
  expect(await indexed).toBe(900)
  expect(Math.max(...seen)).toBe(900)
  await writer.close()
})

it('has indexSearch give up after 5 s in which nothing else is left to index', async () => {
  const { writer, ids, lock, unindexed, end } = await storeBesideTransaction()
  await lock(ids[0]!)
  await expect(writer.indexSearch()).rejects.toMatchObject({
    code: 'unavailable',
    message: 'transactions of other programs have locked 1 conversation for more than 5 s',
  })
  expect(await unindexed()).toEqual([ids[0]])
  await end()
  expect(await writer.indexSearch()).toBe(450)
  await writer.close()
})

it('does not make close() wait for a transaction that has locked the index', async () => {
  const { url, pool, client, writer, end } = await storeBesideTransaction()
  await client.query('LOCK TABLE skein.search IN EXCLUSIVE MODE')
  const store = await openPostgresStore(url)
  expect((await store.search('egret')).items).toHaveLength(20)
  await untilBlocked(pool)
  await store.close()
  await end()
  await writer.close()
})

it('waits for such a transaction as long as it takes while the store is open', async () => {
  const { client, writer, end } = await storeBesideTransaction()
  await client.query('LOCK TABLE skein.search IN EXCLUSIVE MODE')
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
  await end()
  expect(await indexed).toBe(900)
  await writer.close()
})
