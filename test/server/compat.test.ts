import { expect, it } from 'vitest'
import { startService } from './harness.ts'
import { stock } from './stocked.ts'

it('returns a conversation with the messages of its active branch, and its metadata as an extension (S2-51, S2-12, S2-68)', async () => {
  await using service = await startService()
  const { conversation } = await stock(service.store)
  const { status, body, headers } = await service.call(`/conversations/${conversation}`)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    session_id: conversation,
    bead_id: 'task-1',
    project_id: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
    expires_at: null,
    token_count: 5,
  })
  expect(body.metadata).toEqual({ n: 1 })
  const { messages } = body
  expect(messages.map((one: { role: string; content: string }) => [one.role, one.content])).toEqual([
    ['system', 'Be brief.'],
    ['user', 'hello there'],
    ['assistant', 'Hello!'],
    ['user', 'And now?'],
  ])
  expect(messages[1].blocks.map((block: { type: string }) => block.type)).toEqual(['text', 'image'])
  const { version } = await service.store.getConversation(conversation)
  expect(headers.get('etag')).toBe(`"v${version}"`)
  const same = await service.call(`/conversations/${conversation}`, {
    headers: { 'if-none-match': `"v${version}"` },
  })
  expect([same.status, same.text]).toEqual([304, ''])
})

it('pages through the messages from the newest', async () => {
  await using service = await startService()
  const { conversation } = await stock(service.store)
  const texts = async (query: string) =>
    (await service.call(`/conversations/${conversation}?${query}`)).body.messages.map(
      (one: { content: string }) => one.content,
    )
  expect(await texts('limit=1')).toEqual(['And now?'])
  expect(await texts('limit=1&before=2')).toEqual(['Hello!'])
  expect(await texts('limit=1&before=1')).toEqual(['Be brief.', 'hello there'])
  expect(await texts('before=0')).toEqual(['Be brief.'])
})

it.each(['with', 'without'])(
  'pages to the first message by what the responses contain, %s a prompt',
  async how => {
    await using service = await startService()
    const { conversation, branch } = await service.store.create(how === 'with' ? { prompt: 'Be brief.' } : {})
    const texts = Array.from({ length: 7 }, (_, n) => `text ${n}`)
    await service.store.append(
      branch,
      null,
      texts.map(content => ({ role: 'user' as const, content })),
    )
    const read: string[] = []
    let before = ''
    for (let pages = 0; ; pages++) {
      expect(pages).toBeLessThan(3)
      const { messages } = (await service.call(`/conversations/${conversation.id}?limit=3${before}`)).body
      read.unshift(...messages.map((one: { content: string }) => one.content))
      const { depth } = messages[0]
      if (depth === null || depth === 0) break
      before = `&before=${depth}`
    }
    expect(read).toEqual(how === 'with' ? ['Be brief.', ...texts] : texts)
  },
)

it('returns the newest conversation of a bead, in its project (S2-52)', async () => {
  await using service = await startService()
  const { conversation, task } = await stock(service.store)
  for (const noun of ['beads', 'tasks'])
    expect((await service.call(`/${noun}/${task}/conversation`)).body.session_id).toBe(conversation)
  expect((await service.call(`/beads/${task}/conversation?project=other`)).status).toBe(404)
})

it('moves a deleted conversation to the trash, from where it can be restored (S2-53)', async () => {
  await using service = await startService()
  const { conversation } = await stock(service.store)
  const path = `/conversations/${conversation}`
  const deleted = await service.call(path, { method: 'DELETE' })
  expect([deleted.status, deleted.body]).toEqual([200, { success: true, message: expect.any(String) }])
  expect((await service.call(path)).body).toMatchObject({ status: 404, trashed: true, success: false })
  expect((await service.call(path, { method: 'DELETE' })).body).toMatchObject({ status: 404, trashed: true })
  expect((await service.call('/conversations?trashed=true')).body.items[0].id).toBe(conversation)
  expect((await service.call(`${path}/restore`, { method: 'POST' })).status).toBe(200)
  expect((await service.call(path)).status).toBe(200)
})

it('clears the history of a conversation and keeps its metadata, with or without its prompt (S2-54)', async () => {
  await using service = await startService()
  const { conversation } = await stock(service.store)
  const path = `/conversations/${conversation}`
  const kept = await service.call(`${path}/reset`, { body: { keep_system_message: true } })
  expect(kept.body).toMatchObject({ success: true, branch: 'main', archived: 'before-reset-1' })
  const after = (await service.call(path)).body
  expect(after.messages.map((one: { role: string }) => one.role)).toEqual(['system'])
  expect([after.session_id, after.metadata, after.bead_id]).toEqual([conversation, { n: 1 }, 'task-1'])
  await service.call(`${path}/reset`, { body: { keep_system_message: false } })
  expect((await service.call(path)).body.messages).toEqual([])
})
