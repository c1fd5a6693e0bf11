import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { collectPages } from '../../../src/core/pages.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { openInProcess } from './in-process.ts'
import { storeOf } from './stored.ts'

/** The proxy adds the capabilities that agents lack: list, load, resume, fork, delete, close. And it injects
 *  the memory that they lack. */

const [first, second, third] = ['first', 'second', 'third'].map(marker) as [string, string, string]
const forgetful = behindProxy(agentCommand('forgetful'))
const good = behindProxy(agentCommand('good'))

const placeOf = ({ cwd }: { readonly cwd: string }, sessionId: string) => ({ sessionId, cwd, mcpServers: [] })

describe('an agent without any capabilities', () => {
  it('has its sessions listed with their titles, also after a kill', async () => {
    await using stage = await openStage()
    const before = await stage.start(forgetful)
    const one = await before.newSession()
    await before.prompt(one, 'Why is the build red?')
    const two = await before.newSession()
    await before.prompt(two, 'What is a lease?')
    await before.newSession() // nothing is said there
    await before.kill9()

    const after = await stage.start(forgetful)
    await after.load(one)
    await after.prompt(one, 'And now?')
    const { sessions } = await after.request('session/list', { cwd: stage.cwd })
    expect(sessions).toMatchObject([
      { sessionId: one, title: 'Why is the build red?', cwd: stage.cwd },
      { sessionId: two, title: 'What is a lease?', cwd: stage.cwd },
    ])
    expect(await after.request('session/list', { cwd: '/elsewhere' })).toEqual({ sessions: [] })
  })

  it('is listed for its directory, by any path to it', async () => {
    await using stage = await openStage()
    const link = `${stage.cwd}-by-another-way`
    symlinkSync(stage.cwd, link)
    const editor = await stage.start(forgetful)
    const id = await editor.newSession({ cwd: link })
    await editor.prompt(id, first)
    for (const cwd of [link, stage.cwd])
      expect((await editor.request('session/list', { cwd })).sessions).toMatchObject([{ sessionId: id, cwd }])
  })

  it('is resumed without a replay, and remembers', async () => {
    await using stage = await openStage()
    const before = await stage.start(forgetful)
    const id = await before.newSession()
    await before.prompt(id, first)
    await before.kill9()
    const after = await stage.start(forgetful)
    await after.resume(id)
    expect(after.updates(id)).toEqual([])
    await after.prompt(id, second)
    expect(timesGiven(stage.model.last, first)).toBe(1)
  })

  it('answers a prompt in a session that is not open (S4-10)', async () => {
    await using stage = await openStage()
    const before = await stage.start(forgetful)
    const id = await before.newSession()
    await before.prompt(id, first)
    await before.kill9()
    const after = await stage.start(forgetful)
    await after.prompt(id, second)
    expect(timesGiven(stage.model.last, first)).toBe(1)
    expect(timesGiven(stage.model.last, answerMarker(1))).toBe(1)
  })

  it("is forked: each side knows the messages before, and none of the other's (S4-27)", async () => {
    await using stage = await openStage()
    const editor = await stage.start(forgetful)
    const id = await editor.newSession()
    await editor.prompt(id, first)
    const { sessionId: fork } = await editor.request('session/fork', { sessionId: id, cwd: stage.cwd })
    expect(fork).not.toBe(id)
    await editor.prompt(id, second)
    await editor.prompt(fork, third)
    expect([first, second, third].map(text => timesGiven(stage.model.last, text))).toEqual([1, 0, 1])
    await editor.kill9()

    const after = await stage.start(forgetful)
    await after.load(fork)
    expect([first, second, third].map(text => after.thread(fork).times(text))).toEqual([1, 0, 1])
    await after.prompt(fork, 'more')
    expect([first, second, third].map(text => timesGiven(stage.model.last, text))).toEqual([1, 0, 1])
    await after.prompt(id, 'more')
    expect([first, second, third].map(text => timesGiven(stage.model.last, text))).toEqual([1, 1, 0])
  })

  it('has its sessions deleted into the trash, and closed', async () => {
    await using stage = await openStage()
    const editor = await stage.start(forgetful)
    const id = await editor.newSession()
    await editor.prompt(id, first)
    expect(await editor.request('session/close', { sessionId: id })).toEqual({})
    await editor.prompt(id, second)
    expect(timesGiven(stage.model.last, first)).toBe(1)
    expect(await editor.request('session/delete', { sessionId: id })).toEqual({})
    expect(await editor.request('session/list', {})).toEqual({ sessions: [] })
    await expect(editor.load(id)).rejects.toMatchObject({ code: -32_002 })
    await using store = await storeOf(stage)
    expect((await store.listConversations({ trashed: true })).items).toHaveLength(1)
  })

  it('gets an error for an unknown session', async () => {
    await using stage = await openStage()
    const editor = await stage.start(forgetful)
    await expect(editor.load('unknown-session')).rejects.toMatchObject({ code: -32_002 })
    await expect(editor.prompt('unknown-session', first)).rejects.toMatchObject({ code: -32_002 })
    // Deleted is deleted.
    expect(await editor.request('session/delete', { sessionId: 'unknown-session' })).toEqual({})
  })
})

describe('a session that is already open', () => {
  const modeOf = (answer: { modes: { currentModeId: string } }) => answer.modes.currentModeId

  it('is loaded and resumed with its current mode', async () => {
    await using stage = await openStage()
    const editor = await stage.start(good)
    const id = await editor.newSession()
    await editor.prompt(id, first)
    expect(modeOf(await editor.load(id))).toBe('ask')
    await editor.request('session/set_mode', { sessionId: id, modeId: 'code' })
    const again = await editor.load(id)
    expect(again.modes.availableModes).toHaveLength(2)
    expect([modeOf(again), modeOf(await editor.resume(id))]).toEqual(['code', 'code'])
    expect(editor.thread(id).times(first)).toBe(1)
  })

  it('has the model that was set, also after the death of the agent', async () => {
    const agent = [process.execPath, join(import.meta.dirname, 'hanging-agent.ts')]
    await using proxy = await openInProcess(agent)
    const id = await proxy.begin()
    await proxy.request('session/set_model', { sessionId: id, modelId: 'large' })
    await proxy.prompt(id, 'one')
    const { result } = await proxy.request('session/load', { sessionId: id })
    expect(result.models).toMatchObject({ currentModelId: 'large' })
    const died = proxy.prompt(id, 'slow')
    await proxy.until(({ params }) => JSON.stringify(params ?? {}).includes('heard: slow'))
    process.kill(Number(/\d+/.exec(id)![0]), 'SIGKILL')
    await died
    await proxy.prompt(id, 'two')
    expect(proxy.shown(id)).toContain('two; model large')
  })

  it('has the title that was set', async () => {
    const agent = [process.execPath, join(import.meta.dirname, 'hanging-agent.ts')]
    await using proxy = await openInProcess(agent)
    const id = await proxy.begin()
    await proxy.prompt(id, 'one')
    await proxy.request('session/set_title', { sessionId: id, title: 'My own title' })
    const titles = async () => (await proxy.store.listConversations()).items.map(({ title }) => title)
    await vi.waitUntil(async () => (await titles())[0] === 'My own title')
  })

  it('shows its plan again after a load', async () => {
    await using stage = await openStage()
    const editor = await stage.start(good)
    const id = await editor.newSession()
    stage.model.next({ type: 'plan', steps: ['look', 'tell'] }, { type: 'text', text: 'Done.' })
    await editor.prompt(id, first)
    await editor.kill9()
    const after = await stage.start(forgetful)
    await after.load(id)
    expect(after.updates(id).at(-1)).toMatchObject({
      sessionUpdate: 'plan',
      entries: [{ content: 'look' }, { content: 'tell' }],
    })
  })
})

describe('an agent with its own sessions', () => {
  it('has those from before the proxy listed, loaded and stored', async () => {
    await using stage = await openStage()
    const alone = await stage.start(agentCommand('good'))
    const id = await alone.newSession()
    await alone.prompt(id, first)
    await alone.end()

    const editor = await stage.start(good)
    const { sessions } = await editor.request('session/list', { cwd: stage.cwd })
    expect(sessions).toMatchObject([{ sessionId: id }])
    await editor.load(id)
    expect([first, answerMarker(1)].map(text => editor.thread(id).times(text))).toEqual([1, 1])
    await editor.prompt(id, second)
    expect([first, second].map(text => timesGiven(stage.model.last, text))).toEqual([1, 1])
    const listed = await editor.request('session/list', { cwd: stage.cwd })
    expect(listed.sessions).toMatchObject([{ sessionId: id, title: first }])
    await editor.kill9()

    const other = await stage.start(forgetful)
    await other.load(id)
    expect([first, second].map(text => other.thread(id).times(text))).toEqual([1, 1])
    await other.prompt(id, third)
    expect([first, second, third].map(text => timesGiven(stage.model.last, text))).toEqual([1, 1, 1])
  })

  it('has those from before the proxy deleted', async () => {
    await using stage = await openStage()
    const alone = await stage.start(agentCommand('good'))
    const id = await alone.newSession()
    await alone.prompt(id, first)
    await alone.end()
    const editor = await stage.start(good)
    expect(await editor.request('session/delete', { sessionId: id })).toEqual({})
    expect(await editor.request('session/list', {})).toEqual({ sessions: [] })
  })

  it.each(['with', 'without'])('keeps a session deleted that it cannot delete, %s a fork', async fork => {
    await using stage = await openStage()
    const command = behindProxy(agentCommand('good', '--without=delete'))
    const editor = await stage.start(command)
    const id = await editor.newSession()
    await editor.prompt(id, first)
    const forks =
      fork === 'with' ? [(await editor.request('session/fork', placeOf(stage, id))).sessionId] : []
    await editor.request('session/delete', { sessionId: id })
    await editor.kill9()
    const after = await stage.start(command)
    const { sessions } = await after.request('session/list', {})
    expect(sessions.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(forks)
    await expect(after.load(id)).rejects.toMatchObject({ code: -32_002 })
    for (const forked of forks) {
      await after.prompt(forked, second)
      expect([first, second].map(text => timesGiven(stage.model.last, text))).toEqual([1, 1])
    }
  })

  it('has its mode set again after its death', async () => {
    await using stage = await openStage()
    const editor = await stage.start(behindProxy(agentCommand('good', '--without=load,resume')))
    const id = await editor.newSession()
    await editor.request('session/set_mode', { sessionId: id, modeId: 'code' })
    stage.model.next({ type: 'text', text: 'half' }, { type: 'die' })
    await editor.prompt(id, first)
    await editor.prompt(id, second)
    await using store = await storeOf(stage)
    const { items } = await store.listConversations()
    const [link] = await collectPages(page =>
      store.listAgentLinks({ conversationId: items[0]!.id, name: 'main' }, page),
    )
    const kept = JSON.parse(
      readFileSync(`${stage.state}/${encodeURIComponent(link!.foreignId)}.json`, 'utf8'),
    )
    expect(kept.mode).toBe('code')
  })
})

describe('an agent that dies in the middle of an answer', () => {
  it('has its turn ended in order, and the next prompt starts one that knows it', async () => {
    await using stage = await openStage()
    const editor = await stage.start(behindProxy(agentCommand('dies', '--keeps=nothing')))
    const id = await editor.newSession()
    await editor.prompt(id, first)
    stage.model.next({ type: 'text', text: 'HALF-SAID' }, { type: 'die' })
    expect(await editor.prompt(id, second)).toEqual({ stopReason: 'cancelled' })
    expect(editor.thread(id).times('HALF-SAID')).toBe(1)
    await editor.prompt(id, third)
    for (const text of [first, second, third, 'HALF-SAID', answerMarker(1)])
      expect([text, timesGiven(stage.model.last, text)]).toEqual([text, 1])
    for (const text of [first, second, third, 'HALF-SAID', answerMarker(1), answerMarker(3)])
      expect([text, editor.thread(id).times(text)]).toEqual([text, 1])
    expect(await editor.end()).toBe(0)
  })
})
