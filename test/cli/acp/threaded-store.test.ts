import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { openThreadedStore } from '../../../src/cli/acp/threaded-store.ts'
import {
  conversationId,
  NotFoundError,
  OutcomeUnknownError,
  openStore,
  UnavailableError,
} from '../../../src/index.ts'
import { holder } from '../../../src/testing/contract/build.ts'

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

/** The threads that start from now on. */
function watchThreads(): readonly Worker[] {
  const threads: Worker[] = []
  const seen = (message: unknown) => void threads.push((message as { worker: Worker }).worker)
  subscribe('worker_threads', seen)
  onTestFinished(() => void unsubscribe('worker_threads', seen))
  return threads
}

it('is unavailable if its thread ends, and opens the store again for the next call', async () => {
  const threads = watchThreads()
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

it('does not know the outcome of a write whose thread ends, and a retry stores it once', async () => {
  const threads = watchThreads()
  const at = start()
  const threaded = await openThreadedStore(at)
  const { conversation, branch } = await threaded.create()
  const turn = { key: 'turn', step: 0, status: 'complete', holder: holder() } as const
  const write = () => threaded.append(branch, null, [{ role: 'user', content: 'once' }], { turn })

  const other = new BetterSqlite3(at.target)
  other.exec('BEGIN IMMEDIATE')
  const failed = expect(write()).rejects.toThrow(OutcomeUnknownError)
  // Calls are performed in order: the thread has the write.
  await threaded.getConversation(conversation.id)
  await threads[0]!.terminate()
  await failed
  other.exec('ROLLBACK')
  other.close()

  const { head } = await write()
  // Another thread ends after the commit, and the caller does not use its answer.
  await threads[1]!.terminate()
  expect(await write()).toMatchObject({ head, outcome: 'replayed' })
  expect(await threaded.getConversation(conversation.id)).toMatchObject({ messages: 1 })
  expect(threads).toHaveLength(3)
  await threaded.close()
})
