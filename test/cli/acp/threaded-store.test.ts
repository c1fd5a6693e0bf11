import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { openThreadedStore } from '../../../src/cli/acp/threaded-store.ts'
import { conversationId, NotFoundError, openStore, UnavailableError } from '../../../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'threaded-store-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let count = 0
const start = () => ({ target: join(folder, `${++count}.db`), cwd: folder, memory: {} })

it('stores and reads the same as a store in this thread', async () => {
  const at = start()
  const threaded = await openThreadedStore(at)
  await using beside = await openStore(at.target)
  const { conversation, branch } = await threaded.create({ title: 'Bytes', metadata: { a: [1, null] } })
  const content = [
    { type: 'text', text: 'zero \u0000' },
    { type: 'text', text: 'a blob '.repeat(20_000) },
  ] as const
  const { head } = await threaded.append(branch, null, [{ role: 'user', content }])
  expect(await threaded.getConversation(conversation.id)).toEqual(
    await beside.getConversation(conversation.id),
  )
  expect(await threaded.getMessages([head])).toEqual(await beside.getMessages([head]))
  expect(threaded.leaseMs).toBe(beside.leaseMs)
  await threaded.close()
})

it('throws what the store throws, with its class', async () => {
  const threaded = await openThreadedStore(start())
  const unknown = conversationId('00000000-0000-4000-8000-000000000000')
  await expect(threaded.getConversation(unknown)).rejects.toThrow(NotFoundError)
  await threaded.close()
})

it('cannot be opened where the store cannot', async () => {
  await expect(openThreadedStore({ ...start(), target: folder })).rejects.toMatchObject({
    code: 'misconfigured',
  })
})

it('has everything on disk when it is closed, and refuses calls after that', async () => {
  const at = start()
  const threaded = await openThreadedStore(at)
  const created = Array.from({ length: 20 }, (_, i) => threaded.create({ title: `${i}` }))
  await threaded.close()
  await Promise.all(created)
  await expect(threaded.listConversations()).rejects.toThrow(UnavailableError)
  await using store = await openStore(at.target)
  expect(await store.countConversations()).toBe(20)
})

it('is unavailable if its thread ends, and opens the store again for the next call', async () => {
  const threads: Worker[] = []
  const seen = (message: unknown) => void threads.push((message as { worker: Worker }).worker)
  subscribe('worker_threads', seen)
  onTestFinished(() => void unsubscribe('worker_threads', seen))
  const threaded = await openThreadedStore(start())
  await threaded.create({ title: 'before' })
  const ended = threads[0]!.terminate()
  await expect(threaded.listConversations()).rejects.toThrow(UnavailableError)
  await ended
  const { items } = await threaded.listConversations()
  expect(items.map(({ title }) => title)).toEqual(['before'])
  expect(threads).toHaveLength(2)
  await threaded.close()
})
