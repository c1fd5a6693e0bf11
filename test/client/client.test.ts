import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient, ServiceError } from '../../src/client/index.ts'
import { startService, type TestService } from '../server/harness.ts'
import { stock } from '../server/stocked.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ script: () => 'Fine, thanks.' })
})
afterAll(() => service.close())

const connect = (more = {}) => createClient({ url: service.url, token: service.token, ...more })

describe('the client', () => {
  it('creates, appends, asks, reads, forks, searches and deletes', async () => {
    const client = connect()
    const { conversation, created } = await client.findOrCreate('bot:a/b', { channel: 'bot' })
    expect([created, (await client.findOrCreate('bot:a/b')).created]).toEqual([true, false])
    const { id } = conversation
    const messages = [{ role: 'user' as const, content: 'The gateway drops at 02:00.' }]
    const { head } = await client.appendMessages(id, { messages })
    const text: string[] = []
    for await (const event of client.askEvents(id, { content: 'How are you?' })) {
      if (event.type === 'text') text.push(event.text)
      if (event.type === 'ended') expect(event.status).toBe('complete')
    }
    expect(text.join('')).toBe('Fine, thanks.')
    const section = await client.readPath(id, { limit: 2 })
    expect([section.path_messages, section.items.length]).toEqual([3, 2])
    expect((await client.getConversation(id)).messages).toHaveLength(3)
    expect((await client.listMessages(id, { roles: ['user'] })).items).toHaveLength(2)
    expect((await client.createBranch(id, { at: head })).name).toBe('main-2')
    expect((await client.updateBranch(id, 'main-2', { name: 'other' })).name).toBe('other')
    expect((await client.listBranches(id)).map(({ name }) => name)).toEqual(['main', 'other'])
    expect((await client.deleteBranch(id, 'other')).success).toBe(true)
    expect((await client.search('gateway')).items[0]!.conversation).toBe(id)
    expect((await client.resolve('bot:a/b')).conversation).toBe(id)
    expect((await client.listTurns(id)).items).toHaveLength(2)
    expect((await client.labelMessage(head, 'good')).label).toBe('good')
    const { version } = await client.updateConversation(id, { title: 'Gateway' })
    await expect(
      client.updateConversation(id, { title: 'x' }, { ifVersion: version - 1 }),
    ).rejects.toMatchObject({
      code: 'precondition_failed',
    })
    expect((await client.resetConversation(id)).archived).toBe('before-reset-1')
    expect((await client.trashConversation(id)).success).toBe(true)
    expect((await client.restoreConversation(id)).conversation.id).toBe(id)
  })
  it('lists all conversations, page by page', async () => {
    const client = connect()
    for (let n = 0; n < 5; n++) await client.createConversation({ tags: ['paged'] })
    const ids = new Set<string>()
    for await (const { id } of client.conversations({ tag: 'paged', limit: 2 })) ids.add(id)
    expect(ids.size).toBe(5)
  })
  it('exports and imports lines, and reads blobs', async () => {
    const client = connect()
    const { conversation, blob } = await stock(service.store)
    const lines = await new Response(await client.exportLines(conversation)).text()
    expect((await client.importLines(lines)).present.message).toBe(3)
    expect((await client.getBlob(blob)).byteLength).toBeGreaterThan(20_000)
  })
  it('throws typed errors from problem details', async () => {
    const client = connect()
    const { id } = await client.createConversation()
    const append = { messages: [{ role: 'user' as const, content: 'x' }], expected_head: 'a'.repeat(32) }
    const error = await client.appendMessages(id, append).catch(caught => caught)
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({ code: 'conflict', status: 409, problem: { actual_head: null } })
    expect(error.requestId).toMatch(/./)
    await expect(createClient({ url: service.url, token: 'wrong' }).getStats()).rejects.toMatchObject({
      code: 'unauthorized',
    })
  })
})

/** A proxy that answers some requests itself or cuts the connection, and forwards the others. */
async function flaky(fail: (n: number) => 'cut' | 'lose' | 503 | null) {
  let n = 0
  const server = createServer(async (incoming, outgoing) => {
    const what = fail(n++)
    if (what === 'cut') return void incoming.socket.destroy()
    if (what === 503) return void outgoing.writeHead(503, { 'retry-after': '0' }).end('busy')
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    const { host: _, connection: __, ...headers } = incoming.headers as Record<string, string>
    const response = await fetch(service.url + incoming.url, {
      method: incoming.method!,
      headers,
      ...(pieces.length > 0 && { body: Buffer.concat(pieces) }),
    })
    const body = Buffer.from(await response.arrayBuffer())
    // The service has answered, and the client does not get to know.
    if (what === 'lose') return void incoming.socket.destroy()
    outgoing
      .writeHead(response.status, { 'content-type': response.headers.get('content-type') ?? '' })
      .end(body)
  })
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => n,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

describe('retries', () => {
  it('repeats an append whose answer was lost, and stores it once', async () => {
    await using proxy = await flaky(n => (n === 0 ? 'lose' : n === 1 ? 'cut' : n === 2 ? 503 : null))
    const { conversation } = await service.store.create()
    const client = connect({ url: proxy.url })
    const { outcome } = await client.appendMessages(conversation.id, {
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(outcome).toBe('replayed')
    expect((await service.store.getConversation(conversation.id)).messages).toBe(1)
  })
  it('does not repeat a request that is not idempotent, and gives up in the end', async () => {
    await using proxy = await flaky(() => 'cut')
    const client = connect({ url: proxy.url, retries: 1 })
    await expect(client.updateConversation('x', {})).rejects.toMatchObject({
      code: 'unreachable',
      status: null,
    })
    expect(proxy.count()).toBe(1)
    await expect(client.getStats()).rejects.toMatchObject({ code: 'unreachable' })
    expect(proxy.count()).toBe(3)
  })
})
