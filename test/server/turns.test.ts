import { once } from 'node:events'
import { connect } from 'node:net'
import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { readEvents } from '../../src/client/read-events.ts'
import { textOf } from '../../src/core/message.ts'
import { pathOf } from '../../src/core/path.ts'
import { beginTurn } from '../../src/recorder/begin-turn.ts'
import { openStore } from '../../src/stores/open.ts'
import { systemSource } from '../../src/system/source.ts'
import { createDatabase } from '../support/postgres.ts'
import { postgresUrl } from '../support/postgres-url.ts'
import { startService, type TestService } from './harness.ts'

/** A gate that a test opens. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { wait: () => promise, open: () => resolve() }
}

async function newConversation({ store }: TestService): Promise<string> {
  return (await store.create()).conversation.id
}

async function ended(service: TestService, id: string, key: string) {
  return expect
    .poll(async () => (await service.store.findTurn(id, key))?.status, { timeout: 10_000 })
    .not.toBe('open')
}

/** The events of an asked turn. */
async function eventsOf(service: TestService, path: string, body: object, key: string) {
  const headers = { accept: 'text/event-stream', 'idempotency-key': key }
  const response = await service.fetch(path, { body, headers })
  const events: { readonly type: string; readonly turn?: string }[] = []
  for await (const { data } of readEvents(response.body!)) events.push(JSON.parse(data))
  return events
}

/** Sends a request up to its last header. The returned function sends the rest, and reads the response. */
async function beginRequest({ port, token }: TestService, line: string): Promise<() => Promise<string>> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const headers = [`Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`, 'Content-Length: 0']
  socket.write([`${line} HTTP/1.1`, ...headers, ''].join('\r\n'))
  return async () => {
    socket.write('\r\n')
    let text = ''
    for await (const piece of socket) text += piece
    return text
  }
}

async function textsIn({ store }: TestService, id: string, branch = 'main'): Promise<readonly string[]> {
  const { head } = await store.getBranch({ conversationId: id, name: branch })
  return head === null ? [] : (await pathOf(store, head)).map(textOf)
}

describe('asking a model', () => {
  it('returns 202 when the prompt is stored, and the turn continues', async () => {
    const hold = gate()
    await using service = await startService({ script: [{ text: 'Fine, thanks.', gate: hold.wait }] })
    const id = await newConversation(service)
    const { status, body } = await service.call(`/conversations/${id}/turns`, { body: { content: 'How?' } })
    expect([status, body]).toEqual([202, { turn: expect.stringMatching(/^http:/), branch: 'main' }])
    expect(await textsIn(service, id)).toEqual(['How?'])
    hold.open()
    await ended(service, id, body.turn)
    expect(await textsIn(service, id)).toEqual(['How?', 'Fine, thanks.'])
  })
  it('streams the events of the turn', async () => {
    await using service = await startService({ script: ['Fine, thanks.'] })
    const id = await newConversation(service)
    const headers = { accept: 'text/event-stream' }
    const response = await service.fetch(`/conversations/${id}/turns`, { body: { content: 'How?' }, headers })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(response.headers.get('cache-control')).toContain('no-transform')
    const events = []
    for await (const { event, data } of readEvents(response.body!))
      events.push({ event, ...JSON.parse(data) })
    expect(events[0]).toMatchObject({ event: 'started', type: 'started', conversation: id, branch: 'main' })
    expect(
      events
        .filter(({ type }) => type === 'text')
        .map(({ text }) => text)
        .join(''),
    ).toBe('Fine, thanks.')
    expect(events.at(-1)).toMatchObject({
      type: 'ended',
      status: 'complete',
      text: 'Fine, thanks.',
      saved: true,
    })
  })
  it('continues a turn whose connection was closed', async () => {
    const hold = gate()
    const script = [
      { text: 'one two three', gate: (n: number) => (n === 1 ? hold.wait() : Promise.resolve()) },
    ]
    await using service = await startService({ script })
    const id = await newConversation(service)
    const cut = new AbortController()
    const headers = { accept: 'text/event-stream', 'idempotency-key': 'k1' }
    const sent = { body: { content: 'Count' }, headers, signal: cut.signal }
    const response = await service.fetch(`/conversations/${id}/turns`, sent)
    await response.body!.getReader().read()
    cut.abort()
    hold.open()
    await ended(service, id, 'http:k1')
    expect(await textsIn(service, id)).toEqual(['Count', 'one two three'])
  })
  it('answers a retry with the same Idempotency-Key from the same turn', async () => {
    const hold = gate()
    await using service = await startService({ script: [{ text: 'Once.', gate: hold.wait }] })
    const id = await newConversation(service)
    const request = { body: { content: 'How?' }, headers: { 'idempotency-key': 'k1' } }
    const path = `/conversations/${id}/turns`
    const [first, second] = await Promise.all([service.call(path, request), service.call(path, request)])
    expect(second!.body).toEqual(first!.body)
    hold.open()
    await ended(service, id, 'http:k1')
    expect((await service.call(path, request)).status).toBe(202)
    expect(await textsIn(service, id)).toEqual(['How?', 'Once.'])
    const other = { ...request, body: { content: 'Something else' } }
    expect((await service.call(path, other)).body).toMatchObject({ status: 422, code: 'key_reused' })
  })
  it('answers a retry of an ended turn with its key, usage and text, also while another turn runs', async () => {
    const hold = gate()
    const script = [
      { text: 'Once.', usage: { input: 7, output: 3 } },
      { text: 'Later.', gate: hold.wait },
    ]
    await using service = await startService({ script })
    const id = await newConversation(service)
    const path = `/conversations/${id}/turns`
    const first = await eventsOf(service, path, { content: 'How?' }, 'k1')
    await service.call(path, { body: { content: 'And now?' } })
    const again = await eventsOf(service, path, { content: 'How?' }, 'k1')
    const [started, ...others] = first
    expect(again).toEqual([started, others.at(-1)])
    expect(again.at(-1)).toMatchObject({
      turn: 'http:k1',
      status: 'complete',
      stop: 'stop',
      text: 'Once.',
      usage: { input: 7, output: 3 },
    })
    const stored = await service.call(`/conversations/${id}/turns`)
    const keys = stored.body.items.map(({ key }: { key: string }) => key)
    expect(keys).toContain(again.at(-1)!.turn)
    expect(keys).toHaveLength(2)
    hold.open()
  })
  it('stops a turn and keeps what arrived', async () => {
    const hold = gate()
    const script = [
      { text: 'one two three', gate: (n: number) => (n === 2 ? hold.wait() : Promise.resolve()) },
    ]
    await using service = await startService({ script })
    const id = await newConversation(service)
    const headers = { accept: 'text/event-stream', 'idempotency-key': 'k1' }
    const response = await service.fetch(`/conversations/${id}/turns`, {
      body: { content: 'Count' },
      headers,
    })
    for await (const { data } of readEvents(response.body!)) {
      if (JSON.parse(data).type === 'text') break
    }
    const stopped = await service.call(`/conversations/${id}/turns/${encodeURIComponent('http:k1')}`, {
      method: 'DELETE',
    })
    expect([stopped.status, stopped.body.status]).toEqual([200, 'interrupted'])
    expect((await textsIn(service, id)).at(-1)).toMatch(/^one/)
    hold.open()
  })
  it('answers a retry of a stopped turn from the store, and continues one that a crash has interrupted', async () => {
    const script = [{ text: 'one two three', gate: () => new Promise<void>(() => {}) }, 'Asked again.']
    await using service = await startService({ script })
    const id = await newConversation(service)
    const path = `/conversations/${id}/turns`
    const request = { body: { content: 'Count' }, headers: { 'idempotency-key': 'k1' } }
    const first = await service.call(path, request)
    await service.call(`${path}/${encodeURIComponent('http:k1')}`, { method: 'DELETE' })
    expect(await service.call(path, request)).toMatchObject({ status: 202, body: first.body })
    const events = await eventsOf(service, path, { content: 'Count' }, 'k1')
    expect(events.map(({ type }) => type)).toEqual(['started', 'ended'])
    expect(events[1]).toMatchObject({ turn: 'http:k1', status: 'interrupted', stop: 'aborted' })
    const other = { ...request, body: { content: 'Something else' } }
    expect((await service.call(path, other)).body).toMatchObject({ status: 422, code: 'key_reused' })
    expect((await service.store.findTurn(id, 'http:k1'))?.status).toBe('interrupted')

    const { conversation, branch } = await service.store.create()
    const dead = { host: 'elsewhere', boot: 'b', pid: 1, startedAt: 0 }
    const turn = { key: 'http:k1', step: 0, status: 'open', holder: dead } as const
    await service.store.append(branch, null, [{ role: 'user', content: 'Count' }], { turn })
    await service.store.endTurn(conversation.id, 'http:k1', { status: 'interrupted', heldBy: dead })
    const resumed = await eventsOf(service, `/conversations/${conversation.id}/turns`, request.body, 'k1')
    expect(resumed.map(({ type }) => type)).toContain('resumed')
    expect(resumed.at(-1)).toMatchObject({ turn: 'http:k1', status: 'complete', text: 'Asked again.' })
  })
  it.each(['SQLite', 'PostgreSQL'])(
    'stops a turn that runs in another process, and keeps what arrived, on %s',
    { timeout: 60_000 },
    async engine => {
      const hold = gate()
      const script = [
        { text: 'one two three', gate: (n: number) => (n === 2 ? hold.wait() : Promise.resolve()) },
        'Again.',
      ]
      const db = engine === 'SQLite' ? {} : { db: await createDatabase(await postgresUrl()) }
      await using owner = await startService({ script, ...db })
      await using other = await startService({ db: owner.db, script: ['not asked'] })
      const id = await newConversation(owner)
      const headers = { accept: 'text/event-stream', 'idempotency-key': 'k1' }
      const request = { body: { content: 'Count' }, headers }
      const response = await owner.fetch(`/conversations/${id}/turns`, request)
      const events = readEvents(response.body!)
      for await (const { data } of events) if (JSON.parse(data).type === 'text') break
      const path = `/conversations/${id}/turns/${encodeURIComponent('http:k1')}`
      const stopped = await other.call(path, { method: 'DELETE', token: owner.token })
      expect([stopped.status, stopped.body.status]).toEqual([200, 'interrupted'])
      expect(await textsIn(other, id)).toEqual(['Count', expect.stringMatching(/^one /)])
      hold.open()
      // A retry, in any process, finds the stopped turn. A new question is asked, and the old request does
      // not stop it.
      const again = await other.fetch(`/conversations/${id}/turns`, { ...request, token: owner.token })
      expect(await again.text()).toMatch(/^event: started\n.*\n\nevent: ended\n.*"status":"interrupted"/)
      const next = { body: { content: 'Once more' }, headers: { 'idempotency-key': 'k2' } }
      await owner.call(`/conversations/${id}/turns`, next)
      await ended(owner, id, 'http:k2')
      expect((await textsIn(other, id)).at(-1)).toBe('Again.')
    },
  )
  it('ends a turn whose process has died, and refuses to stop one of another program', async () => {
    await using service = await startService({ limits: { stopMs: 200 } })
    const { conversation, branch } = await service.store.create()
    const remove = (key: string) =>
      service.call(`/conversations/${conversation.id}/turns/${key}`, { method: 'DELETE' })
    const dead = { host: 'elsewhere', boot: 'b', pid: 1, startedAt: 0 }
    const turn = { key: 'dead', step: 0, status: 'open', holder: dead } as const
    await using past = await openStore(service.db, {
      source: { ...systemSource, now: () => Date.now() - 60_000 },
      indexing: 'manual',
    })
    await past.append(branch, null, [{ role: 'user', content: 'Hi' }], { turn })
    await past.putDraft(conversation.id, 'dead', dead, [{ n: 0, type: 'text', text: 'half' }])
    expect((await remove('dead')).body).toMatchObject({ status: 'interrupted', live: false })
    expect(await textsIn(service, conversation.id)).toEqual(['Hi', 'half'])
    const chat = await beginTurn(service.store, branch, { words: [{ role: 'user', content: 'Chat' }] })
    const refused = await remove(chat.key)
    expect(refused.body).toMatchObject({ status: 409, code: 'busy', lease_until: expect.any(String) })
    await chat.end('complete')
    expect((await remove(chat.key)).body.status).toBe('complete')
    expect((await remove('unknown')).status).toBe(404)
  })
  it('asks on a new branch at a message', async () => {
    await using service = await startService({ script: ['First.', 'Second.'] })
    const id = await newConversation(service)
    const first = await service.call(`/conversations/${id}/turns`, { body: { content: 'A?' } })
    await ended(service, id, first.body.turn)
    const { items } = await service.store.listMessages({ conversationId: id, order: 'ascending' })
    const body = { content: 'B?', at: items[0]!.id }
    const asked = await service.call(`/conversations/${id}/turns`, { body })
    expect(asked.body.branch).toBe('main-2')
    await ended(service, id, asked.body.turn)
    expect(await textsIn(service, id, 'main-2')).toEqual(['A?', 'B?', 'Second.'])
    expect(await textsIn(service, id)).toEqual(['A?', 'First.'])
  })
  it('reports a model that fails: as an event, in the turn, and in the log', async () => {
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    await using service = await startService({ script: [{ fail: 400, message: 'bad request' }], log })
    const id = await newConversation(service)
    const headers = { accept: 'text/event-stream' }
    const response = await service.fetch(`/conversations/${id}/turns`, { body: { content: 'How?' }, headers })
    const events = []
    for await (const { data } of readEvents(response.body!)) events.push(JSON.parse(data))
    expect(events.at(-1)).toMatchObject({ type: 'failed', problem: { status: 502, code: 'model_failed' } })
    expect((await service.store.listTurns(id)).items[0]!.status).toBe('failed')
    const line = {
      level: 40,
      msg: 'turn failed',
      code: 'model_failed',
      model: 'scripted',
      model_status: 400,
      request_id: response.headers.get('x-request-id'),
      tenant: 'default',
      conversation: id,
    }
    expect(lines.map(text => JSON.parse(text)).filter(({ level }) => level >= 40)).toMatchObject([line])
    expect(lines.join('')).not.toContain('bad request')
  })
})

describe('limits of turns', () => {
  it('refuses a second turn on a busy branch with 409, and more than max_turns with 429', async () => {
    const hold = gate()
    const script = () => ({ text: 'Done.', gate: hold.wait })
    await using service = await startService({ script, limits: { maxTurns: 2 } })
    const ids = await Promise.all([1, 2, 3].map(() => newConversation(service)))
    const ask = (id: string) => service.call(`/conversations/${id}/turns`, { body: { content: 'Go' } })
    expect((await ask(ids[0]!)).status).toBe(202)
    expect((await ask(ids[0]!)).body).toMatchObject({ status: 409, code: 'busy' })
    expect((await ask(ids[1]!)).status).toBe(202)
    const refused = await ask(ids[2]!)
    expect(refused.body).toMatchObject({ status: 429, max_turns: 2 })
    expect(refused.headers.get('retry-after')).toBe('2')
    hold.open()
    for (const id of ids.slice(0, 2)) {
      const { items } = await service.store.listTurns(id)
      await ended(service, id, items[0]!.key)
    }
    expect((await ask(ids[2]!)).status).toBe(202)
  })
  it('finishes running turns when it closes, or stores them as interrupted', async () => {
    const holds = [gate(), gate()]
    let n = 0
    const script = () => ({ text: 'one two', gate: holds[n++ % 2]!.wait })
    const service = await startService({ script, limits: { closeMs: 300 } })
    const [finishing, hanging] = [await newConversation(service), await newConversation(service)]
    for (const id of [finishing, hanging]) {
      await service.call(`/conversations/${id}/turns`, { body: { content: 'Go' } })
    }
    holds[0]!.open()
    const { store } = service
    const statuses: (string | undefined)[] = []
    const close = store.close.bind(store)
    store.close = async () => {
      for (const id of [finishing, hanging]) statuses.push((await store.listTurns(id)).items[0]?.status)
      await close()
    }
    const closing = service.close()
    await closing
    expect(statuses.sort()).toEqual(['complete', 'interrupted'])
  })
  it('accepts no connection while it closes, refuses writes on open ones, and lets a turn be stopped', async () => {
    const service = await startService({ script: [{ text: 'one', gate: () => new Promise(() => {}) }] })
    const id = await newConversation(service)
    const path = `/api/v1/conversations/${id}/turns`
    const { body } = await service.call(`/conversations/${id}/turns`, { body: { content: 'Go' } })
    const begun = await Promise.all([
      beginRequest(service, 'POST /api/v1/conversations'),
      beginRequest(service, `GET ${path}`),
      beginRequest(service, `DELETE ${path}/${encodeURIComponent(body.turn)}`),
    ])
    // Its response shows that the service has seen the bytes before it.
    await service.call('/stats')
    const closing = service.close()
    await expect(fetch(`${service.url}/healthz`)).rejects.toThrow('fetch failed')
    const answers: string[] = []
    for (const finish of begun) answers.push(await finish())
    for (const answer of answers) expect(answer).toMatch(/^connection: close\r$/im)
    expect(answers[0]).toMatch(/^HTTP\/1.1 503 .*"code":"shutting_down"/s)
    expect(answers[0]).toMatch(/^retry-after: 2\r$/im)
    expect(answers[1]).toMatch(/^HTTP\/1.1 200 .*"status":"open"/s)
    expect(answers[2]).toMatch(/^HTTP\/1.1 200 .*"status":"interrupted"/s)
    await closing
  })
  it('does not ask models without an agent', async () => {
    await using service = await startService({ agentOf: undefined as never })
    const id = await newConversation(service)
    expect((await service.call(`/conversations/${id}/turns`, { body: { content: 'Go' } })).status).toBe(503)
  })
})
