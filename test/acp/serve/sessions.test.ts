import { randomUUID } from 'node:crypto'
import { mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ListSessionsRequest } from '@agentclientprotocol/sdk/unstable'
import { describe, expect, it } from 'vitest'
import { collectPages } from '../../../src/core/pages.ts'
import { desk } from './build.ts'
import { type Editor, only, wordsIn } from './editor.ts'

const where = { cwd: '/', mcpServers: [] }

/** The listed sessions, newest first. */
async function listed(editor: Editor, params: ListSessionsRequest = {}): Promise<readonly string[]> {
  const { sessions } = await editor.agent.request('session/list', params)
  return sessions.map(({ sessionId }) => sessionId)
}

/** How a request was refused. */
async function refused(asked: Promise<unknown>): Promise<{ code: number; message: string }> {
  return asked.then(
    () => ({ code: 0, message: 'it was not' }),
    ({ code, message }) => ({ code, message }),
  )
}

describe('a session of our own agent', () => {
  it('is announced with all its capabilities', async () => {
    await using here = await desk()
    const { hello } = here.editor
    expect(hello).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: 'skein', version: '1.2.3' },
      authMethods: [],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: true, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {}, fork: {}, delete: {}, close: {} },
      },
    })
  })

  it('leaves nothing behind if it has no messages', async () => {
    await using here = await desk()
    const { sessionId } = await here.editor.begin()
    expect(await listed(here.editor)).toEqual([])
    await here.editor.agent.request('session/close', { sessionId })
    expect(await here.store.countConversations()).toBe(0)
    await here.editor.prompt((await here.editor.begin()).sessionId, 'hello')
    expect(await here.store.countConversations()).toBe(1)
  })

  it('is a conversation with its id, its directory and the channel acp', async () => {
    await using here = await desk()
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'My dog is called Rex.')
    const page = await here.store.listConversations()
    expect(page.items).toMatchObject([{ id: sessionId, directory: '/', channel: 'acp', model: 'scripted' }])
    const [info] = only(here.editor.shown(sessionId), 'session_info_update')
    expect(info?.title).toBe('My dog is called Rex.')
    expect(await here.editor.agent.request('session/list', { cwd: '/' })).toMatchObject({
      sessions: [{ sessionId, cwd: '/', title: 'My dog is called Rex.' }],
    })
  })

  it('is loaded with all messages before the answer, and remembers them', async () => {
    await using here = await desk()
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'My dog is called Rex.')
    await here.editor.prompt(sessionId, '/think hard\n/say Good.')
    const editor = await here.another()
    const answer = await editor.agent.request('session/load', { sessionId, ...where })
    expect(wordsIn(editor.shown(sessionId))).toEqual([
      'user: My dog is called Rex.',
      'agent: Noted: My dog is called Rex.',
      'user: /think hard\n/say Good.',
      'thought: hard',
      'agent: Good.',
    ])
    expect(answer?.modes?.currentModeId).toBe('ask')
    editor.forget()
    await editor.prompt(sessionId, 'What did I say first?')
    expect(wordsIn(editor.shown(sessionId))).toEqual([expect.stringContaining('My dog is called Rex.')])
  })

  it('is resumed without a replay, and remembers all the same', async () => {
    await using here = await desk()
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'My dog is called Rex.')
    const editor = await here.another()
    await editor.agent.request('session/resume', { sessionId, ...where })
    expect(wordsIn(editor.shown(sessionId))).toEqual([])
    await editor.prompt(sessionId, 'What did I say first?')
    expect(wordsIn(editor.shown(sessionId))).toEqual([expect.stringContaining('Rex')])
  })

  it('is forked at its newest message, and neither side knows the later messages of the other', async () => {
    await using here = await desk()
    const { editor, store } = here
    const { sessionId } = await editor.begin()
    await editor.prompt(sessionId, 'My dog is called Rex.')
    const fork = await editor.agent.request('session/fork', { sessionId, cwd: '/' })
    await editor.prompt(sessionId, 'My cat is called Tom.')
    await editor.prompt(fork.sessionId, 'My bird is called Polly.')
    expect(new Set(await listed(editor))).toEqual(new Set([sessionId, fork.sessionId]))
    expect(await store.countConversations()).toBe(1)
    const other = await here.another()
    await other.agent.request('session/load', { sessionId: fork.sessionId, ...where })
    expect(wordsIn(other.shown(fork.sessionId)).filter(words => words.startsWith('user'))).toEqual([
      'user: My dog is called Rex.',
      'user: My bird is called Polly.',
    ])
    await other.agent.request('session/load', { sessionId, ...where })
    expect(wordsIn(other.shown(sessionId)).filter(words => words.startsWith('user'))).toEqual([
      'user: My dog is called Rex.',
      'user: My cat is called Tom.',
    ])
  })

  it('is forked before its first message, as a session of its own', async () => {
    await using here = await desk()
    const { sessionId } = await here.editor.begin()
    const fork = await here.editor.agent.request('session/fork', { sessionId, cwd: '/' })
    await here.editor.prompt(fork.sessionId, 'hello')
    expect(await listed(here.editor)).toEqual([fork.sessionId])
  })

  it('is deleted into the trash, from which it can be restored', async () => {
    await using here = await desk()
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'hello')
    await here.editor.agent.request('session/delete', { sessionId })
    expect(await listed(here.editor)).toEqual([])
    const { items } = await here.store.listConversations({ trashed: true })
    expect(items.map(({ id }) => id)).toEqual([sessionId])
    expect(await refused(here.editor.prompt(sessionId, 'still there?'))).toMatchObject({ code: -32002 })
    expect(await refused(here.editor.agent.request('session/load', { sessionId, ...where }))).toMatchObject({
      code: -32002,
    })
    await here.store.restore(items[0]!.id)
    await here.editor.agent.request('session/load', { sessionId, ...where })
  })

  it('is deleted without its forks, and the forks without it', async () => {
    await using here = await desk()
    const { editor } = here
    const { sessionId } = await editor.begin()
    await editor.prompt(sessionId, 'My dog is called Rex.')
    const [one, other] = [
      await editor.agent.request('session/fork', { sessionId, cwd: '/' }),
      await editor.agent.request('session/fork', { sessionId, cwd: '/' }),
    ]
    await editor.agent.request('session/delete', { sessionId: one.sessionId })
    expect(new Set(await listed(editor))).toEqual(new Set([sessionId, other.sessionId]))
    await editor.agent.request('session/delete', { sessionId })
    expect(await listed(editor)).toEqual([other.sessionId])
    await editor.prompt(other.sessionId, 'What did I say first?')
    expect(wordsIn(editor.shown(other.sessionId))).toEqual([expect.stringContaining('Rex')])
    await editor.agent.request('session/delete', { sessionId: other.sessionId })
    expect(await here.store.countConversations()).toBe(0)
    expect(await here.store.countConversations({ trashed: true })).toBe(1)
  })

  it('is listed page by page, newest first, with the path that the client uses', async () => {
    await using here = await desk()
    const ids: string[] = []
    for (let n = 0; n < 55; n++) {
      const { conversation, branch } = await here.store.create({ directory: '/', title: `talk ${n}` })
      await here.store.append(branch, null, [{ role: 'user', content: 'hi', createdAt: new Date(1_000 * n) }])
      ids.unshift(conversation.id)
    }
    const first = await here.editor.agent.request('session/list', { cwd: '/' })
    const second = await here.editor.agent.request('session/list', { cwd: '/', cursor: first.nextCursor! })
    const all = [...first.sessions, ...second.sessions]
    expect(new Set(all.map(({ sessionId }) => sessionId))).toEqual(new Set(ids))
    expect(all).toHaveLength(55)
    const times = all.map(({ updatedAt }) => updatedAt!)
    expect(times).toEqual(times.toSorted().toReversed())
    expect(second.nextCursor ?? null).toBeNull()
    expect(await listed(here.editor, { cwd: '/elsewhere' })).toEqual([])
  })

  it('belongs to its directory, by any path to it', async () => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'skein-acp-')))
    try {
      symlinkSync(place, join(place, 'link'))
      await using here = await desk()
      const cwd = join(place, 'link')
      const { sessionId } = await here.editor.begin({ cwd })
      await here.editor.prompt(sessionId, 'hello')
      expect((await here.store.listConversations()).items[0]?.directory).toBe(place)
      const { sessions } = await here.editor.agent.request('session/list', { cwd })
      expect(sessions).toMatchObject([{ sessionId, cwd }])
      expect(await listed(here.editor, { cwd: `${place}/` })).toEqual([sessionId])
    } finally {
      rmSync(place, { recursive: true })
    }
  })

  it('has modes and models to choose from, and keeps the model', async () => {
    await using here = await desk()
    const { editor } = here
    const { sessionId, modes, configOptions } = await editor.begin()
    expect(modes).toMatchObject({ currentModeId: 'ask' })
    expect(modes?.availableModes.map(({ id }) => id)).toEqual(['ask', 'edits', 'auto', 'read'])
    expect(configOptions).toMatchObject([
      { id: 'mode', category: 'mode', currentValue: 'ask' },
      {
        id: 'model',
        category: 'model',
        currentValue: 'scripted',
        options: [{ value: 'scripted' }, { value: 'other' }],
      },
    ])
    await editor.prompt(sessionId, 'hello')
    await editor.agent.request('session/set_mode', { sessionId, modeId: 'auto' })
    expect(only(editor.shown(sessionId), 'config_option_update')[0]?.configOptions).toMatchObject([
      { id: 'mode', currentValue: 'auto' },
      {},
    ])
    const answer = await editor.agent.request('session/set_config_option', {
      sessionId,
      configId: 'model',
      value: 'other',
    })
    expect(answer.configOptions).toMatchObject([{ currentValue: 'auto' }, { currentValue: 'other' }])
    await editor.prompt(sessionId, 'hello')
    const [first, second] = await collectPages(async page =>
      here.store.listTurns((await here.store.resolve(sessionId)).conversation.id, page),
    )
    expect([first?.model, second?.model]).toEqual(['scripted', 'other'])
    const another = await here.another()
    const loaded = await another.agent.request('session/resume', { sessionId, ...where })
    // The model is stored with the conversation; the mode is not.
    expect(loaded.configOptions).toMatchObject([{ currentValue: 'ask' }, { currentValue: 'other' }])
  })

  it('is not opened if another program owns its conversation', async () => {
    await using here = await desk()
    const { conversation } = await here.store.create({ owner: 'claude-code', directory: '/' })
    const sessionId = conversation.id
    for (const method of ['session/load', 'session/resume', 'session/fork'] as const) {
      const { message } = await refused(here.editor.agent.request(method, { sessionId, ...where }))
      expect(message, method).toContain('belongs to claude-code, which alone writes it')
    }
    await refused(here.editor.agent.request('session/delete', { sessionId }))
    expect((await here.store.getConversation(conversation.id)).trashedAt).toBeNull()
    expect(await listed(here.editor)).toEqual([])
  })

  it('is one session if it is opened several times at once', async () => {
    await using here = await desk()
    const { sessionId } = await here.editor.begin()
    await here.editor.prompt(sessionId, 'hello')
    const editor = await here.another()
    // Each opening would start the server, and log that it cannot.
    const mcpServers = [{ name: 'nowhere', command: '/no/such/program', args: [], env: [] }]
    const wanted = { sessionId, cwd: '/', mcpServers }
    await Promise.all([1, 2, 3].map(() => editor.agent.request('session/resume', wanted)))
    await editor.prompt(sessionId, 'hello again')
    expect(here.logged).toEqual([expect.stringContaining('nowhere')])
    await editor.agent.request('session/close', { sessionId })
    expect(await refused(editor.prompt(sessionId, 'still there?'))).toMatchObject({ code: -32002 })
  })

  it('opens a session without a prompt again, and an unknown one is deleted already', async () => {
    await using here = await desk()
    const { agent } = here.editor
    const { sessionId } = await here.editor.begin()
    for (const method of ['session/load', 'session/resume'] as const)
      expect(await agent.request(method, { sessionId, ...where })).toHaveProperty('modes')
    await agent.request('session/delete', { sessionId: randomUUID() })
    expect((await here.editor.prompt(sessionId, 'hello')).stopReason).toBe('end_turn')
  })

  it('refuses unknown ids and values, with a sentence', async () => {
    await using here = await desk()
    const { agent } = here.editor
    const { sessionId } = await here.editor.begin()
    const unknown = randomUUID()
    for (const method of ['session/load', 'session/resume', 'session/fork'] as const) {
      expect(await refused(agent.request(method, { sessionId: unknown, ...where })), method).toEqual({
        code: -32002,
        message: `there is no conversation "${unknown}"`,
      })
    }
    expect(await refused(here.editor.prompt(unknown, 'hello'))).toMatchObject({ code: -32002 })
    expect(await refused(agent.request('session/set_mode', { sessionId, modeId: 'yolo' }))).toEqual({
      code: -32602,
      message: 'there is no mode yolo; there are: ask, edits, auto, read',
    })
    const model = { sessionId, configId: 'model', value: 'unknown' } as const
    expect(await refused(agent.request('session/set_config_option', model))).toMatchObject({ code: -32602 })
    expect(await refused(here.editor.begin({ cwd: 'here' }))).toMatchObject({ code: -32602 })
    // Cancelling an unknown session has no effect, and the connection stays open.
    await here.editor.cancel(unknown)
    expect((await here.editor.prompt(sessionId, 'hello')).stopReason).toBe('end_turn')
  })
})
