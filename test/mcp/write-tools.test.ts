import { describe, expect, it } from 'vitest'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { createMcpEndpoint } from '../../src/mcp/endpoint.ts'
import { storeOf } from '../cli/running.ts'
import { home } from '../cli/skein.ts'
import { startService } from '../server/harness.ts'
import { connectHttp, connectProcess } from './clients.ts'

async function serviceWithNotes() {
  const endpoint = createMcpEndpoint({ store: async () => service.store, notes: { key: 'notes' } })
  const service = await startService({ mcp: (request, { scopes }) => endpoint.fetch(request, { scopes }) })
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await endpoint.close()
      await service.close()
    },
  }
}

describe('remember', () => {
  it('adds a message to the notes of the project, which another client finds; the same text once', async () => {
    using here = home()
    await using first = await connectProcess(here, ['--allow-write'])
    await using second = await connectProcess(here, ['--allow-write'])
    const text = 'The staging host is otter.'
    const stored = await first.call('remember', { text })
    expect(stored.data.stored).toBe(true)
    const again = await second.call('remember', { text })
    expect(again.data).toEqual({ ...stored.data, stored: false })
    const found = await second.call('search_conversations', { query: 'otter' })
    expect(found.data.hits).toMatchObject([{ message: stored.data.message, title: 'notes' }])
    await using store = await storeOf(here)
    const { conversation, branch } = await store.resolve(stored.data.conversation)
    expect([conversation.title, conversation.directory, conversation.channel]).toEqual([
      'notes',
      here.cwd,
      'mcp',
    ])
    expect((await pathOf(store, branch.head!)).map(textOf)).toEqual([text])
    const key = `cli:notes@${here.cwd}`
    expect((await store.findByKey(key))?.conversation.id).toBe(conversation.id)
  })

  it('stores every note once if many clients store the same ones at the same moment', async () => {
    await using service = await serviceWithNotes()
    const token = await service.tokenFor('read', 'write')
    const clients = await Promise.all(Array.from({ length: 4 }, () => connectHttp(service.url, token)))
    const notes = ['one', 'two', 'three', 'four', 'five']
    await Promise.all(clients.flatMap(client => notes.map(text => client.call('remember', { text })))).then(
      results => expect(results.filter(({ isError }) => isError)).toEqual([]),
    )
    const { branch } = (await service.store.findByKey('notes'))!
    const kept = (await pathOf(service.store, branch.head!)).map(textOf)
    expect(kept.toSorted()).toEqual(notes.toSorted())
    await Promise.all(clients.map(client => client[Symbol.asyncDispose]()))
  })

  it('stores a note again that was deleted or erased', async () => {
    await using service = await serviceWithNotes()
    await using connected = await connectHttp(service.url, service.token)
    const first = await connected.call('remember', { text: 'again' })
    await service.store.eraseMessages([first.data.message], { by: 'test', reason: 'test' })
    const second = await connected.call('remember', { text: 'again' })
    expect(second.data).toMatchObject({ stored: true })
    expect(second.data.message).not.toBe(first.data.message)
    expect((await connected.call('remember', { text: 'again' })).data).toEqual({
      ...second.data,
      stored: false,
    })
  })

  it('is offered only with --allow-write, or to a token with the scope write', async () => {
    using here = home()
    const names = async (connected: Awaited<ReturnType<typeof connectHttp>>) => {
      await using own = connected
      return (await own.client.listTools()).tools.map(({ name }) => name).slice(3)
    }
    expect(await names(await connectProcess(here))).toEqual([])
    expect(await names(await connectProcess(here, ['--allow-write']))).toEqual(['remember', 'label_message'])
    await using service = await serviceWithNotes()
    expect(await names(await connectHttp(service.url, await service.tokenFor('read')))).toEqual([])
    expect(await names(await connectHttp(service.url, await service.tokenFor('read', 'write')))).toEqual([
      'remember',
      'label_message',
    ])
  })
})

describe('label_message', () => {
  it('labels a message, replaces and removes the label, and refuses a conversation', async () => {
    await using service = await serviceWithNotes()
    await using connected = await connectHttp(service.url, service.token)
    const { data } = await connected.call('remember', { text: 'label me' })
    const labelOf = async () => (await service.store.getMessages([data.message]))[0]!.label
    await connected.call('label_message', { id: data.message, label: 'good' })
    expect(await labelOf()).toBe('good')
    await connected.call('label_message', { id: data.message.slice(0, 8), label: 'better' })
    expect(await labelOf()).toBe('better')
    await connected.call('label_message', { id: data.message, label: '' })
    expect(await labelOf()).toBeNull()
    const refused = await connected.call('label_message', { id: data.conversation, label: 'x' })
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining('read_conversation')])
  })
})

describe('the address /mcp', () => {
  it('is behind the same checks of token, host and origin as the service (R18)', async () => {
    await using service = await serviceWithNotes()
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const headers = { accept: 'application/json, text/event-stream' }
    const status = async (request: Parameters<typeof service.fetch>[1]) =>
      (await service.fetch('//mcp', { body, ...request, headers: { ...headers, ...request?.headers } }))
        .status
    expect(await status({})).toBe(200)
    expect(await status({ token: null })).toBe(401)
    expect(await status({ token: 'skein_wrong' })).toBe(401)
    expect(await status({ token: await service.tokenFor('write') })).toBe(403)
    expect(await status({ headers: { origin: 'https://evil.example' } })).toBe(403)
    await using without = await startService()
    expect((await without.fetch('//mcp', { body })).status).toBe(404)
  })
})
