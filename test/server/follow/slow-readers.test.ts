import { expect, it } from 'vitest'
import { readEvents } from '../../../src/client/read-events.ts'
import type { BranchRef } from '../../../src/core/branch.ts'
import type { ConversationId, MessageId } from '../../../src/core/ids.ts'
import type { Store } from '../../../src/core/ports.ts'
import { readEventId } from '../../../src/server/follow/event-id.ts'
import { type FollowStreamOptions, followStream } from '../../../src/server/follow/follow-stream.ts'
import { openStore } from '../../../src/stores/open.ts'
import { type StatementTrace, statementChannel } from '../../../src/system/debug.ts'

/** Streams without sockets: what a socket would take, the test reads. */
const plain: Omit<FollowStreamOptions, 'conversations'> = {
  withTasks: false,
  position: null,
  signal: new AbortController().signal,
  shutdown: new AbortController().signal,
  longestMs: 600_000,
  isLive: () => false,
  cutOff: error => error as Error,
  onEnd: () => undefined,
  // Only the size of the queue may end a stream.
  times: { stalledMs: 600_000 },
}

/** The numbers with which the texts of message events begin. */
async function* numbersIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<number> {
  for await (const { event, data } of readEvents(stream))
    if (event === 'message') yield Number.parseInt(JSON.parse(data).message.blocks[0].text, 10)
}

async function open(): Promise<{ store: Store; id: ConversationId; branch: BranchRef }> {
  const store = await openStore(':memory:', { indexing: 'manual' })
  const { conversation, branch } = await store.create()
  return { store, id: conversation.id, branch }
}

/** The id of the first event of a stream, which is then left unread. */
async function firstId(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const text = new TextDecoder().decode((await reader.read()).value)
  return /^id: (.*)$/m.exec(text)![1]!
}

const words = 'x'.repeat(8_000)
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

it('sends a comment in every pause', async () => {
  const { store } = await open()
  const stop = new AbortController()
  const times = { heartbeatMs: 10 }
  const stream = await followStream(store, { ...plain, conversations: [], signal: stop.signal, times })
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes(': still here\n\n')) text += decoder.decode((await reader.read()).value)
  expect(text).toMatch(/^retry: 1000\n\n/)
  stop.abort()
  while (!(await reader.read()).done);
  await store.close()
})

it('disconnects a reader with 1 MB queued at once, keeps the others, and lets it resume', async () => {
  const { store, id, branch } = await open()
  let isCut = false
  const options = { ...plain, conversations: [id] }
  const onEnd = () => {
    isCut = true
  }
  const slow = (await followStream(store, { ...options, onEnd })).getReader()
  const resumeAt = await firstId(slow)
  let bytes = 0
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      controller.enqueue(chunk)
    },
  })
  const quick = numbersIn((await followStream(store, options)).pipeThrough(counted))
  let head: MessageId | null = null
  let sent = 0
  // One message at a time, each after the quick reader has the one before it.
  for (; !isCut && sent < 300; sent++) {
    head = (await store.append(branch, head, [{ role: 'user', content: `${sent} ${words}` }])).head
    expect((await quick.next()).value).toBe(sent)
  }
  // Both streams have the same events. The cut is seen some events later at most.
  expect(bytes).toBeGreaterThan(0.95 * 1_048_576)
  expect(bytes).toBeLessThan(1.1 * 1_048_576)
  await expect(slow.read()).rejects.toThrow('1 MB waited for it')
  const again = numbersIn(await followStream(store, { ...options, position: readEventId(resumeAt) }))
  const numbers: number[] = []
  while (numbers.length < sent) numbers.push((await again.next()).value!)
  expect(numbers).toEqual(upTo(sent))
  await Promise.all([quick.return(undefined), again.return(undefined), store.close()])
})

it.each([
  ['a long replay', 'before'],
  ['a burst', 'while'],
])('does not disconnect a reader that takes %s at its own pace', { timeout: 60_000 }, async (_, when) => {
  const { store, id, branch } = await open()
  const count = 600
  const options = { ...plain, conversations: [id] }
  const begun = await followStream(store, options)
  const reader = begun.getReader()
  const resumeAt = await firstId(reader)
  await store.append(
    branch,
    null,
    upTo(count).map(n => ({ role: 'user' as const, content: `${n} ${words}` })),
  )
  let stream = begun
  if (when === 'before') {
    await reader.cancel()
    stream = await followStream(store, { ...options, position: readEventId(resumeAt) })
  } else reader.releaseLock()
  const numbers: number[] = []
  for await (const number of numbersIn(stream)) {
    numbers.push(number)
    if (numbers.length === count) break
    // About 5 MB, taken at a quarter of the pace at which the store could deliver them.
    for (let turns = 0; turns < 4; turns++) await new Promise(setImmediate)
  }
  expect(numbers).toEqual(upTo(count))
  await store.close()
})

it('disconnects a reader that takes nothing of a replay', async () => {
  const { store, id, branch } = await open()
  const reader = (await followStream(store, { ...plain, conversations: [id] })).getReader()
  const resumeAt = await firstId(reader)
  await reader.cancel()
  await store.append(
    branch,
    null,
    upTo(60).map(n => ({ role: 'user' as const, content: `${n} ${words}` })),
  )
  const ended = Promise.withResolvers<void>()
  const position = readEventId(resumeAt)
  const times = { stalledMs: 50 }
  const options = { ...plain, conversations: [id], position, times, onEnd: () => ended.resolve() }
  const stalled = (await followStream(store, options)).getReader()
  await ended.promise
  await expect(stalled.read()).rejects.toThrow('it took nothing')
  await store.close()
})

it('lets the store stop polling when streams were refused, cut or closed', async () => {
  const { store, id, branch } = await open()
  const options = { ...plain, conversations: [id] }
  const reader = (await followStream(store, options)).getReader()
  const position = readEventId(await firstId(reader))
  await reader.cancel()
  const unknown = '00000000-0000-4000-8000-000000000000' as ConversationId
  const refused = followStream(store, { ...options, conversations: [id, unknown] })
  await expect(refused).rejects.toThrow('there is no conversation')
  const closed = await followStream(store, { ...options, shutdown: AbortSignal.abort() })
  expect(await new Response(closed).text()).toContain('event: closing')
  await store.append(
    branch,
    null,
    upTo(60).map(n => ({ role: 'user' as const, content: `${n} ${words}` })),
  )
  const ended = Promise.withResolvers<void>()
  const stalled = { position, times: { stalledMs: 50 }, onEnd: () => ended.resolve() }
  await followStream(store, { ...options, ...stalled })
  await ended.promise
  let polls = 0
  const see = (trace: unknown) => {
    const { statements } = trace as StatementTrace
    if (statements.some(name => name === 'followStates' || name === 'recentActivity')) polls++
  }
  statementChannel.subscribe(see)
  await store.updateConversation(id, { title: 'x' })
  await new Promise(resolve => setTimeout(resolve, 300))
  statementChannel.unsubscribe(see)
  expect(polls).toBe(0)
  await store.close()
})
