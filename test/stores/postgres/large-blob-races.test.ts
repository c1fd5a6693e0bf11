import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { contentOf } from '../../../src/core/message.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { freshDatabase } from './database.ts'
import { startProxy } from './proxy.ts'

const writers = 6
const rounds = 4
const cycles = 5

/** A writer finds the text stored, or not, while others are about to store it or to remove its last message.
 *  Control: if a removal does not look for the row of the blob, a text loses its parts. */
it('stores and removes the same large text in several processes at once', { timeout: 120_000 }, async () => {
  await using store = await openPostgresStore(await freshDatabase(), {
    pool: { max: writers },
    indexing: 'manual',
  })
  const branches = await Promise.all(
    Array.from({ length: writers }, async () => (await store.create()).branch),
  )
  const heads = branches.map(branch => branch.head)
  for (let round = 0; round < rounds; round++) {
    const text = randomBytes(3_300_000).toString('base64')
    // Each stores and removes it several times. In the end, every second one keeps it.
    const made = await Promise.all(
      branches.map(async (branch, i) => {
        for (let cycle = 1; ; cycle++) {
          const { head } = await store.append(branch, heads[i]!, [{ role: 'user', content: text }])
          if (cycle === cycles && i % 2 === 0) return head
          await store.deleteMessages([head])
          if (cycle === cycles) return heads[i]!
        }
      }),
    )
    for (const [i, head] of made.entries()) {
      heads[i] = head
      if (i % 2 !== 0) continue
      const [message] = await store.getMessages([head!])
      expect(contentOf(message!) === text).toBe(true)
    }
  }
  expect((await store.verify()).findings).toEqual({ damage: 0, repairable: 0, note: 0 })
  expect((await store.measure(new Date(0))).blobs.count).toBe(rounds)
})

it('keeps a large text that another process is about to refer to', async () => {
  const url = await freshDatabase()
  const proxy = await startProxy(url)
  await using other = await openPostgresStore(url, { indexing: 'manual' })
  await using store = await openPostgresStore(proxy.url, { pool: { max: 1 }, indexing: 'manual' })
  const text = randomBytes(3_300_000).toString('base64')
  const [a, b] = [(await other.create()).branch, (await other.create()).branch]
  const { head: first } = await other.append(a, null, [{ role: 'user', content: text }])
  let removing: Promise<unknown> | undefined
  // The writer has found the text stored. Its only message is deleted before the writer refers to it.
  proxy.cut = sent => {
    if (removing || !sent.includes('INSERT INTO skein.blob_refs')) return null
    removing = other.deleteMessages([first])
    return pause(300)
  }
  const { head } = await store.append(b, null, [{ role: 'user', content: text }])
  expect(await removing).toMatchObject({ deleted: 1 })
  const [message] = await other.getMessages([head])
  expect(contentOf(message!) === text).toBe(true)
})
