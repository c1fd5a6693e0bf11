import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandLine } from '../../cli/skein.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { storeOf } from './stored.ts'

/** Sessions that began elsewhere: before the proxy, in another directory, in our own agent. */

const [first, second] = [marker('first'), marker('second')]
const good = agentCommand('good')

describe('a session from before the proxy', () => {
  it('can be forked: the fork has its transcript, and knows it', async () => {
    await using stage = await openStage()
    const before = await stage.start(good)
    const id = await before.newSession()
    await before.prompt(id, first)
    await before.kill9()

    const editor = await stage.start(behindProxy(good))
    const { sessionId } = await editor.request('session/fork', {
      sessionId: id,
      cwd: stage.cwd,
      mcpServers: [],
    })
    expect(editor.updates(id), 'the replay is not shown').toEqual([])
    await editor.prompt(sessionId, second)
    for (const text of [first, answerMarker(1), second]) expect(timesGiven(stage.model.last, text)).toBe(1)
    await editor.load(sessionId)
    for (const text of [first, answerMarker(1), second]) expect(editor.thread(sessionId).times(text)).toBe(1)
  })

  it('gets its older transcript silently when it is resumed, and its title', async () => {
    await using stage = await openStage()
    const before = await stage.start(good)
    const id = await before.newSession()
    await before.prompt(id, first)
    await before.kill9()

    const editor = await stage.start(behindProxy(good))
    const { modes } = await editor.resume(id)
    expect(modes).toMatchObject({ currentModeId: 'ask' })
    expect(editor.updates(id)).toEqual([])
    await editor.prompt(id, second)
    for (const text of [first, answerMarker(1), second]) expect(timesGiven(stage.model.last, text)).toBe(1)
    await editor.kill9()
    const after = await stage.start(behindProxy(good))
    await after.load(id)
    for (const text of [first, answerMarker(1), second]) expect(after.thread(id).times(text)).toBe(1)
    const { sessions } = await after.request('session/list', { cwd: stage.cwd })
    expect(sessions).toMatchObject([{ sessionId: id, title: first }])
  })

  it('is unknown if the agent does not know it either', async () => {
    await using stage = await openStage()
    const editor = await stage.start(behindProxy(good))
    const params = { sessionId: 'unknown', cwd: stage.cwd, mcpServers: [] }
    for (const method of ['session/fork', 'session/resume', 'session/load'])
      await expect(editor.request(method, params)).rejects.toMatchObject({ code: -32_002 })
  })
})

it('lists a conversation in both directories that it was continued in', async () => {
  await using stage = await openStage()
  const other = join(stage.cwd, 'other')
  mkdirSync(other)
  const editor = await stage.start(behindProxy(agentCommand('forgetful')))
  const id = await editor.newSession()
  await editor.prompt(id, first)
  const listed = async (cwd: string) => (await editor.request('session/list', { cwd })).sessions
  expect(await listed(other)).toEqual([])
  await editor.request('session/close', { sessionId: id })
  await editor.load(id, { cwd: other })
  await editor.prompt(id, second)
  expect(await listed(other)).toMatchObject([{ sessionId: id, cwd: other }])
  expect(await listed(stage.cwd)).toMatchObject([{ sessionId: id, cwd: stage.cwd }])
})

it('relays everything to our own agent on the same store, which stores it once', async () => {
  await using stage = await openStage()
  const [file, args] = commandLine(['acp'])
  const command = behindProxy([file, ...args])
  const editor = await stage.start(command)
  const id = await editor.newSession()
  await editor.prompt(id, 'My name is Ada.')
  const cut = editor.prompt(id, '/slow 500 one two three four five six')
  cut.catch(() => undefined) // the process is killed
  await editor.untilShown(id, 'one')
  await editor.kill9()
  const after = await stage.start(command)
  await after.load(id)
  expect(after.thread(id).times('My name is Ada.')).toBe(1)
  await after.prompt(id, 'What is my name?')
  expect(after.thread(id).times('Your name is Ada.')).toBe(1)
  expect(after.complaints).toContain('the agent has the same store')
  await using store = await storeOf(stage)
  expect((await store.listConversations()).items).toHaveLength(1)
})
