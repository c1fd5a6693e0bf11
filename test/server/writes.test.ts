import { expect, it } from 'vitest'
import { conversationId } from '../../src/core/ids.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { startService } from './harness.ts'
import { stock } from './stocked.ts'

it('creates one conversation for one Idempotency-Key, also in a second process', async () => {
  await using service = await startService()
  await using other = await startService({ db: service.db })
  const body = { title: 'Once', key: 'bot:1' }
  const headers = { 'idempotency-key': 'create-1' }
  const first = await service.call('/conversations', { body, headers })
  const again = await other.call('/conversations', { body, headers, token: service.token })
  expect([first.status, again.status]).toEqual([201, 200])
  expect(again.body.id).toBe(first.body.id)
  expect(await service.store.countConversations()).toBe(1)
  const taken = await service.call('/conversations', { body })
  expect(taken.body).toMatchObject({ status: 422, code: 'key_reused', key: 'bot:1' })
})

it.each(['SQLite', 'PostgreSQL'])(
  'refuses an Idempotency-Key with another body, and takes a retry after a change, on %s',
  async engine => {
    const db = engine === 'SQLite' ? {} : { db: await createDatabase(await postgresUrl()) }
    await using service = await startService(db)
    const headers = { 'idempotency-key': 'create-1' }
    const body = { title: 'Once', metadata: { a: 1, b: 2 } }
    const create = (body?: object) =>
      service.call('/conversations', { headers, method: 'POST', ...(body && { body }) })
    const { id } = (await create(body)).body
    const patch = { method: 'PATCH', body: { title: 'Renamed', metadata: {} } }
    await service.call(`/conversations/${id}`, patch)
    const again = await create({ metadata: { b: 2, a: 1 }, title: 'Once' })
    expect([again.status, again.body.id, again.body.title]).toEqual([200, id, 'Renamed'])
    for (const other of [{ title: 'Twice' }, { ...body, key: 'bot' }, undefined]) {
      const refused = await create(other)
      expect(refused.body).toMatchObject({ status: 422, code: 'key_reused', key: 'create-1' })
      expect(refused.body.hint).toContain(`/api/v1/conversations/${id}`)
    }
    await service.call(`/conversations/${id}`, { method: 'DELETE' })
    expect((await create(body)).body).toMatchObject({ id, trashed_at: expect.any(String) })
    expect(await service.store.countConversations({ trashed: true })).toBe(1)
    const empty = { headers: { 'idempotency-key': 'create-2' }, method: 'POST' }
    const statuses = [1, 2, 3].map(async () => (await service.call('/conversations', empty)).status)
    expect((await Promise.all(statuses)).toSorted()).toEqual([200, 200, 201])
  },
)

it('takes a retry of a request that an earlier version has answered', async () => {
  await using service = await startService()
  // The id that version 0.1.0 made of the key alone.
  const id = conversationId('3f7d9544-98f3-811b-ab63-4aa9755a241e')
  await service.store.create({ id, title: 'Once' })
  const headers = { 'idempotency-key': 'create-1' }
  const again = await service.call('/conversations', { body: { title: 'Once' }, headers })
  expect([again.status, again.body.id]).toEqual([200, id])
})

it.each(['SQLite', 'PostgreSQL'])(
  'resets once for one Idempotency-Key, also with If-Match and at the same moment, on %s',
  async engine => {
    const db = engine === 'SQLite' ? {} : { db: await createDatabase(await postgresUrl()) }
    await using service = await startService(db)
    const { conversation } = await stock(service.store)
    const path = `/conversations/${conversation}`
    const etag = (await service.call(path)).headers.get('etag')!
    const reset = (key: string, more = {}) =>
      service.call(`${path}/reset`, { method: 'POST', headers: { 'idempotency-key': key, ...more } })
    const first = await Promise.all([1, 2, 3].map(() => reset('r1', { 'if-match': etag })))
    expect(first.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(first[0]!.body).toMatchObject({ branch: 'main', archived: 'before-reset:r1' })
    const say = (content: string) =>
      service.call(`${path}/messages`, { body: { messages: [{ role: 'user', content }] } })
    await say('after the reset')
    expect((await reset('r1', { 'if-match': etag })).body).toEqual(first[0]!.body)
    expect((await service.call(`${path}/messages`)).body.items).toHaveLength(1)
    expect((await reset('r2')).body).toMatchObject({ archived: 'before-reset:r2' })
    // There is nothing to keep, and a retry must still be recognized.
    expect((await reset('r3')).body).toMatchObject({ message: 'there were no messages' })
    await say('again')
    expect((await reset('r3')).body).toMatchObject({ message: 'there were no messages' })
    expect((await service.call(`${path}/messages`)).body.items).toHaveLength(1)
  },
)

it('appends once for one Idempotency-Key, and refuses other messages under it', async () => {
  await using service = await startService()
  const { conversation } = await stock(service.store)
  const path = `/conversations/${conversation}/messages`
  const request = (content: string) => ({
    body: { messages: [{ role: 'user', content }] },
    headers: { 'idempotency-key': 'append-1' },
  })
  const first = await service.call(path, request('one'))
  expect([first.status, first.body.outcome]).toEqual([201, 'appended'])
  const again = await service.call(path, request('one'))
  expect(again.body).toEqual({ ...first.body, outcome: 'replayed' })
  expect((await service.call(path, request('two'))).body).toMatchObject({ status: 422, code: 'key_reused' })
  const invalid = { ...request('one'), headers: { 'idempotency-key': 'a b' } }
  expect((await service.call(path, invalid)).body).toMatchObject({ status: 400, field: 'Idempotency-Key' })
})

it('compares expected_head in the transaction: 409 with the head, or a sibling branch', async () => {
  await using service = await startService()
  const { conversation, message } = await stock(service.store)
  const path = `/conversations/${conversation}/messages`
  const { head } = await service.store.getBranch({ conversationId: conversation, name: 'main' })
  const messages = [{ role: 'assistant', content: 'late' }]
  const refused = await service.call(path, { body: { messages, expected_head: message } })
  expect(refused.body).toMatchObject({ status: 409, code: 'conflict', branch: 'main', actual_head: head })
  const body = { messages, expected_head: message, on_conflict: 'fork' }
  const forked = await service.call(path, { body })
  expect(forked.body).toMatchObject({ outcome: 'forked', branch: 'main-2' })
})

it('stores the messages of 30 clients that append at the same time to any head', async () => {
  await using service = await startService()
  const { conversation } = await service.store.create()
  const path = `/conversations/${conversation.id}/messages`
  const numbers = Array.from({ length: 30 }, (_, n) => n)
  const answers = await Promise.all(
    numbers.map(n => service.call(path, { body: { messages: [{ role: 'user', content: `${n}` }] } })),
  )
  expect(answers.filter(({ status }) => status !== 201).map(({ text }) => text)).toEqual([])
  const { body } = await service.call(`${path}?limit=1000`)
  const texts = body.items.map((one: { blocks: { text: string }[] }) => Number(one.blocks[0]!.text))
  expect(texts.sort((a: number, b: number) => a - b)).toEqual(numbers)
})

it('refuses a write whose If-Match is stale with 412', async () => {
  await using service = await startService()
  const { conversation } = await stock(service.store)
  const path = `/conversations/${conversation}`
  const etag = (await service.call(path)).headers.get('etag')!
  const patch = (title: string) => ({ method: 'PATCH', body: { title }, headers: { 'if-match': etag } })
  expect((await service.call(path, patch('A'))).status).toBe(200)
  const stale = await service.call(path, patch('B'))
  expect(stale.body).toMatchObject({ status: 412, code: 'precondition_failed' })
  expect((await service.call(`${path}`, { method: 'DELETE', headers: { 'if-match': etag } })).status).toBe(
    412,
  )
  const fresh = { 'if-match': stale.headers.get('etag')! }
  expect((await service.call(path, { ...patch('B'), headers: fresh })).status).toBe(200)
})

it('compares If-Match in the transaction: of 8 clients with the same ETag, one writes', async () => {
  await using service = await startService()
  const { conversation } = await stock(service.store)
  const path = `/conversations/${conversation}`
  for (let round = 0; round < 10; round++) {
    const headers = { 'if-match': (await service.call(path)).headers.get('etag')! }
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const body = { messages: [{ role: 'user', content: `${round} ${n}` }] }
        return (await service.call(`${path}/messages`, { body, headers })).status
      }),
    )
    expect(statuses.toSorted()).toEqual([201, ...Array(7).fill(412)])
  }
})

it('answers a retry with If-Match from the store, although the first attempt changed the version', async () => {
  await using service = await startService()
  const { conversation, message } = await stock(service.store)
  const path = `/conversations/${conversation}`
  const etag = async () => (await service.call(path)).headers.get('etag')!
  const body = { messages: [{ role: 'user', content: 'once' }] }
  const append = { body, headers: { 'if-match': await etag(), 'idempotency-key': 'a' } }
  const first = await service.call(`${path}/messages`, append)
  const again = await service.call(`${path}/messages`, append)
  expect(again.body).toEqual({ ...first.body, outcome: 'replayed' })
  const fork = { body: { at: message }, headers: { 'if-match': await etag(), 'idempotency-key': 'b' } }
  const statuses = [1, 2].map(() => service.call(`${path}/branches`, fork))
  expect((await Promise.all(statuses)).map(({ status }) => status).toSorted()).toEqual([200, 201])
})

it('lists branches in pages, each with the messages that only it has', async () => {
  await using service = await startService()
  const { conversation, message } = await stock(service.store)
  const path = `/conversations/${conversation}/branches`
  const names = (await service.call(path)).body.items.map(({ name }: { name: string }) => name)
  for (let i = 0; i < 5; i++) {
    await service.store.createBranch(conversation, message, { name: `try-${i}` })
    names.push(`try-${i}`)
  }
  const whole = await service.call(path)
  expect([whole.body.items.length, whole.body.next, whole.body.skipped]).toEqual([names.length, null, []])
  const read: object[] = []
  for (let after = ''; after !== null; ) {
    const { body } = await service.call(`${path}?limit=2${after && `&after=${after}`}`)
    expect(body.items.length).toBeLessThanOrEqual(2)
    read.push(...body.items)
    after = body.next
  }
  const byName = (items: { name: string }[]) => Object.fromEntries(items.map(item => [item.name, item]))
  expect(byName(read as { name: string }[])).toEqual(byName(whole.body.items))
  expect(read).toHaveLength(names.length)
  const refused = await service.call(`${path}?after=none`)
  expect(refused.body).toMatchObject({ status: 400, field: 'after' })
})

it('forks, moves, activates, renames and deletes branches', async () => {
  await using service = await startService()
  const { conversation, message } = await stock(service.store)
  const path = `/conversations/${conversation}/branches`
  const main = await service.store.getBranch({ conversationId: conversation, name: 'main' })
  const made = await service.call(path, { body: { at: message } })
  expect(made.body).toMatchObject({ name: 'main-2', head: message })
  const keyed = { body: { at: message }, headers: { 'idempotency-key': 'try-1' } }
  expect([(await service.call(path, keyed)).status, (await service.call(path, keyed)).status]).toEqual([
    201, 200,
  ])
  const taken = await service.call(path, { body: { name: 'try-1', at: message } })
  expect(taken.body).toMatchObject({ status: 422, code: 'key_reused' })
  const patch = (name: string, body: object) => service.call(`${path}/${name}`, { method: 'PATCH', body })
  expect((await patch('main-2', { head: main.head, expected_head: null })).body.status).toBe(409)
  expect((await patch('main-2', { head: main.head })).body).toMatchObject({
    status: 400,
    field: 'expected_head',
  })
  const moved = await patch('main-2', {
    head: main.head,
    expected_head: message,
    active: true,
    name: 'moved',
  })
  expect(moved.body).toMatchObject({ name: 'moved', head: main.head })
  expect((await service.store.getConversation(conversation)).activeBranch).toBe('moved')
  expect((await service.call(`${path}/moved`, { method: 'DELETE' })).status).toBe(400)
  expect((await service.call(`${path}/try-1`, { method: 'DELETE' })).status).toBe(200)
  const { body } = await service.call(path)
  expect(body.items.map(({ name }: { name: string }) => name)).toEqual(['main', 'moved'])
})

it('reads a section of a path, and messages by seq', async () => {
  await using service = await startService()
  const { conversation, message } = await stock(service.store)
  const path = `/conversations/${conversation}/messages`
  const depths = async (query: string) =>
    (await service.call(`${path}?${query}`)).body.items.map((one: { depth: number }) => one.depth)
  expect(await depths('limit=2')).toEqual([1, 2])
  expect(await depths('from=0&limit=1')).toEqual([0])
  expect(await depths('before=2&limit=1')).toEqual([1])
  expect(await depths(`at=${message}`)).toEqual([0])
  const page = (await service.call(`${path}?order=ascending&limit=1&roles=user`)).body
  expect([page.items[0].seq, typeof page.next]).toEqual([0, 'string'])
  expect(
    (await service.call(`${path}?order=ascending&roles=user&after=${page.next}`)).body.items[0].seq,
  ).toBe(2)
  expect(await depths('order=ascending&after_seq=1')).toEqual([2])
})
