import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { contentOf } from '../../../src/core/message.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { blobPiece } from '../../../src/stores/postgres/queries/messages.ts'
import { freshDatabase, openPool } from './database.ts'

const store = await postgresStore(openPool(await freshDatabase()))

it('returns a blob of several pieces whole, and its beginning (R11)', async () => {
  const { branch } = await store.create()
  const text = `é${randomBytes(Math.ceil(blobPiece * 0.8)).toString('base64')}`
  const { head } = await store.append(branch, null, [{ role: 'user', content: text }])
  const [whole] = await store.getMessages([head])
  expect(contentOf(whole!) === text).toBe(true)
  const { hash, bytes } = whole!.blobs[0]!
  expect(bytes).toBeGreaterThan(blobPiece)
  expect((await store.readBlob(hash)).length).toBe(bytes)
  const [preview] = await store.getMessages([head], { blobs: 'preview' })
  expect(text.startsWith(contentOf(preview!) as string)).toBe(true)
  expect((contentOf(preview!) as string).length).toBeGreaterThan(500)
})

it('returns several blobs at once, each with its own data', async () => {
  const { branch } = await store.create()
  const texts = ['a', 'b', 'c'].map(letter => letter.repeat(20_000))
  const { ids } = await store.append(branch, null, [
    { role: 'user', content: texts.map(text => ({ type: 'text', text })) },
  ])
  const [message] = await store.getMessages(ids)
  expect(message!.content.map(block => (block as { text: string }).text)).toEqual(texts)
})
