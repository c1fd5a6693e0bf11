import { describe, expect, it } from 'vitest'
import { followStreamSchema } from '../../../src/api/schema/index.ts'
import { readEvents, type StreamEvent } from '../../../src/client/read-events.ts'
import type { ConversationId } from '../../../src/core/ids.ts'
import type { Store } from '../../../src/core/ports.ts'
import { createDatabase } from '../../support/postgres.ts'
import { postgresUrl } from '../../support/postgres-url.ts'
import { addToken, startService } from '../harness.ts'

const say = (content: string) => ({ role: 'user', content }) as const

async function writeTo(store: Store, id: ConversationId, ...texts: readonly string[]): Promise<void> {
  const branch = { conversationId: id, name: 'main' }
  const { head } = await store.getBranch(branch)
  await store.append(branch, head, texts.map(say))
}

/** Reads events of a stream until `isLast`, then closes it. */
async function eventsUntil(
  response: Response,
  isLast: (event: StreamEvent) => boolean,
): Promise<StreamEvent[]> {
  expect(response.status).toBe(200)
  const events: StreamEvent[] = []
  for await (const event of readEvents(response.body!)) {
    events.push(event)
    if (isLast(event)) break
  }
  return events
}

/** The text of a message event. */
function textIn({ data }: StreamEvent): string {
  return JSON.parse(data).message.blocks[0].text
}

function textsOf(events: readonly StreamEvent[]): string[] {
  return events.filter(({ event }) => event === 'message').map(textIn)
}

/** Follows until a number of bytes has come, or until `take` returns true. Only complete events are taken, as
 *  a client would have them after the connection was cut. */
async function followUntilCut(
  open: (signal: AbortSignal) => Promise<Response>,
  bytes: number,
  take: (event: StreamEvent) => boolean,
): Promise<void> {
  const cut = new AbortController()
  const response = await open(cut.signal)
  expect(response.status).toBe(200)
  const reader = response.body!.getReader()
  let left = bytes
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      controller.enqueue(value.subarray(0, left))
      left -= value.length
      if (left <= 0) controller.close()
    },
  })
  for await (const event of readEvents(body)) if (take(event)) break
  cut.abort()
  await reader.cancel().catch(() => undefined)
}

describe('GET /follow', () => {
  it('sends activity of the tenant and contents of conversations, as their schemas say', async () => {
    await using service = await startService()
    const { store } = service
    const { conversation } = await store.create({ title: 'Followed' })
    const response = await service.fetch(`/follow?conversation=${conversation.id}`)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    expect(response.headers.has('content-encoding')).toBe(false)
    const seen = new Set<string>()
    const events = eventsUntil(response, ({ event }) => {
      seen.add(event)
      return event === 'gone'
    })
    await writeTo(store, conversation.id, 'one', 'two')
    await store.createBranch(conversation.id, null, { name: 'side' })
    await store.deleteBranch({ conversationId: conversation.id, name: 'side' })
    await expect.poll(() => seen.has('activity'), { timeout: 10_000 }).toBe(true)
    await store.trash(conversation.id)
    await expect.poll(() => seen.has('conversation'), { timeout: 10_000 }).toBe(true)
    await store.purge(conversation.id)
    const all = await events
    expect(textsOf(all)).toEqual(['one', 'two'])
    for (const { event, data } of all) {
      expect(followStreamSchema.safeParse(JSON.parse(data)).error?.issues).toBeUndefined()
      expect(JSON.parse(data).type).toBe(event)
    }
    const activity = all.find(({ event }) => event === 'activity')
    expect(JSON.parse(activity!.data)).toMatchObject({ conversation: conversation.id, title: 'Followed' })
  })

  it('refuses unknown conversations, too many of them, and ids that are not its own', async () => {
    await using service = await startService()
    const { conversation } = await service.store.create()
    const statusOf = async (path: string, headers = {}) => (await service.call(path, { headers })).status
    expect(await statusOf('/follow?conversation=00000000-0000-4000-8000-000000000000')).toBe(404)
    expect(await statusOf('/follow?conversation=x')).toBe(400)
    expect(await statusOf(`/follow?${`conversation=${conversation.id}&`.repeat(21)}`)).toBe(400)
    expect((await service.call('/follow', { token: null })).status).toBe(401)
    expect((await service.call('/follow', { token: await service.tokenFor('write') })).status).toBe(403)
  })

  it('refuses what is not the id of an event before the response begins', async () => {
    await using service = await startService()
    const { id } = (await service.store.create()).conversation
    const path = `/follow?conversation=${id}`
    const [{ id: good }] = (await eventsUntil(await service.fetch(path), () => true)) as [StreamEvent]
    const [activity, own] = good.split('.') as [string, string]
    const cursor = own.slice(own.indexOf(':') + 1)
    const cursorOf = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url')
    const wrong = [
      'garbage',
      'a b',
      'a.b',
      `${cursorOf(['1'])}.${own}`,
      `${activity}.~garbage.${own}`,
      `${activity}.${id}`,
      `${activity}.${id}:garbage`,
      `${activity}.${id}:${cursor.slice(0, -4)}`,
      `${activity}.${id}:${cursorOf([1, 2 ** 40, 0, 0, '', '', []])}`,
      `${activity}.not-an-id:${cursor}`,
      // Also that of a conversation which the stream does not have.
      `${activity}.${own}.00000000-0000-4000-8000-000000000000:garbage`,
    ]
    for (const text of wrong) {
      const sent = await service.call(path, { headers: { 'last-event-id': text } })
      expect([text, sent.status]).toEqual([text, 400])
      expect(sent.headers.get('content-type')).toBe('application/problem+json')
      expect(sent.body).toMatchObject({
        code: 'invalid',
        field: 'Last-Event-ID',
        hint: 'Connect without Last-Event-ID to follow from now on.',
      })
      const asked = await service.call(`${path}&after=${encodeURIComponent(text)}`)
      expect(asked.body).toMatchObject({ code: 'invalid', field: 'after' })
    }
    expect((await service.call('//metrics')).text).toMatch(/^skein_followers 0$/m)
    // The id itself works, and so does one without the conversation.
    for (const text of [good, activity]) {
      const response = await service.fetch(path, { headers: { 'last-event-id': text } })
      expect(response.status).toBe(200)
      await response.body!.cancel()
    }
  })

  it('reports a conversation that was purged meanwhile as gone, and follows the others', async () => {
    await using service = await startService()
    const { store } = service
    const one = (await store.create()).conversation.id
    const two = (await store.create()).conversation.id
    const path = `/follow?conversation=${one}&conversation=${two}`
    const begun = await eventsUntil(await service.fetch(path), ({ data }) => data.includes(two))
    await store.trash(one)
    await store.purge(one)
    let last = begun.at(-1)!.id
    // Each of several reconnects is answered in the same way.
    for (const text of ['a', 'b']) {
      const response = await service.fetch(path, { headers: { 'last-event-id': last } })
      await writeTo(store, two, text)
      const seen = { gone: false, message: false }
      const events = await eventsUntil(response, ({ event, data }) => {
        if (event === 'gone') seen.gone = JSON.parse(data).conversation === one
        if (event === 'message') seen.message = true
        return seen.gone && seen.message
      })
      expect(textsOf(events)).toEqual([text])
      last = events.at(-1)!.id
    }
    // Without a place in it, it does not exist.
    expect((await service.call(path)).status).toBe(404)
  })

  it.each(['SQLite', 'PostgreSQL'])(
    'delivers every message once over 200 cuts in mid-event, on %s',
    {
      timeout: 120_000,
    },
    async engine => {
      const db = engine === 'SQLite' ? undefined : await createDatabase(await postgresUrl())
      await using one = await startService(db === undefined ? {} : { db })
      await using two = await startService({ db: one.db })
      const ids = [(await one.store.create()).conversation.id, (await one.store.create()).conversation.id]
      const path = `/follow?conversation=${ids[0]}&conversation=${ids[1]}`
      const [count, most] = [120, 200]
      const [begun] = await eventsUntil(await one.fetch(path), ({ data }) => data.includes(ids[1]!)).then(
        all => all.slice(-1),
      )
      const writing = (async () => {
        for (let n = 0; n < count; n++) for (const id of ids) await writeTo(one.store, id, `${n}`)
      })()
      const texts = new Map<string, string[]>(ids.map(id => [id, []]))
      const isDone = () => [...texts.values()].every(seen => seen.length >= count)
      let last = begun!.id
      let cuts = 0
      let random = 777
      while (!isDone()) {
        random = (random * 1_103_515_245 + 12_345) % 2 ** 31
        const bytes = cuts < most ? 300 + (random % 1_200) : Number.POSITIVE_INFINITY
        const service = cuts % 2 === 0 ? one : two
        const headers = { 'last-event-id': last }
        await followUntilCut(
          signal => service.fetch(path, { headers, signal }),
          bytes,
          event => {
            last = event.id
            if (event.event === 'message') texts.get(JSON.parse(event.data).conversation)!.push(textIn(event))
            return isDone()
          },
        )
        cuts++
      }
      await writing
      const expected = Array.from({ length: count }, (_, n) => `${n}`)
      for (const id of ids) expect(texts.get(id)).toEqual(expected)
      expect(cuts).toBeGreaterThanOrEqual(most)
    },
  )

  it('says that the service shuts down before its streams end, so that clients reconnect elsewhere', async () => {
    await using service = await startService()
    const { conversation } = await service.store.create()
    const response = await service.fetch(`/follow?conversation=${conversation.id}`)
    let id = ''
    const events = eventsUntil(response, event => {
      id ||= event.id
      return false
    })
    await expect.poll(() => id, { timeout: 10_000 }).not.toBe('')
    await service.close()
    const last = (await events).at(-1)!
    expect(JSON.parse(last.data)).toEqual({ type: 'closing', reason: 'shutdown' })
    // It has no id of its own: a client resumes behind the event before it.
    expect(last.id).not.toBe('')
    expect(last.id).toBe((await events).at(-2)!.id)
  })

  it('says that a stream ends because its token expires', async () => {
    await using service = await startService()
    const token = await addToken(service.store, ['read'], new Date(Date.now() + 1_000))
    const events = await eventsUntil(await service.fetch('/follow', { token }), () => false)
    expect(JSON.parse(events.at(-1)!.data)).toEqual({ type: 'closing', reason: 'timeout' })
    expect((await service.call('/follow', { token })).status).toBe(401)
  })

  it('counts the followers of the process', async () => {
    await using service = await startService()
    const followers = async () => /^skein_followers (\d+)/m.exec((await service.call('//metrics')).text)?.[1]
    const stop = new AbortController()
    const response = await service.fetch('/follow', { signal: stop.signal })
    await response.body!.getReader().read()
    expect(await followers()).toBe('1')
    stop.abort()
    await expect.poll(followers, { timeout: 10_000 }).toBe('0')
  })
})
