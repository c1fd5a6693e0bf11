import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { agentCommand, behindProxy, openStage } from '../agents/harness.ts'
import { answerMarker, marker, timesGiven } from '../agents/model-server.ts'
import { storeOf } from './stored.ts'

/** A turn behind the proxy is stored and shown once, in its own session. */

const [first, second, third] = ['first', 'second', 'third'].map(marker) as [string, string, string]
const forgetful = behindProxy(agentCommand('forgetful'))
const good = behindProxy(agentCommand('good'))

async function pathIn(store: Store) {
  const { items } = await store.listConversations()
  const { branch } = items[0]!
  return { branch, messages: await pathOf(store, branch.head!) }
}

describe('a turn behind the proxy', () => {
  it('is stored with thoughts, calls and their results, plans, permissions, usage and stop reason', async () => {
    await using stage = await openStage()
    const editor = await stage.start(good)
    const id = await editor.newSession()
    stage.model.next(
      { type: 'thought', text: 'let me see' },
      { type: 'plan', steps: ['look', 'tell'] },
      { type: 'text', text: 'I look. ' },
      {
        type: 'tool',
        name: 'read_file',
        title: 'Read a.ts',
        input: { path: 'a.ts' },
        output: 'AAA',
        asks: true,
      },
      { type: 'text', text: 'It says AAA.' },
      { type: 'usage', used: 100, size: 1_000, cost: 0.25 },
    )
    await editor.prompt(id, first)
    await using store = await storeOf(stage)
    const { branch, messages } = await pathIn(store)
    expect(messages.map(({ role, content: blocks }) => [role, blocks.map(({ type }) => type)])).toEqual([
      ['user', ['text']],
      ['assistant', ['thinking', 'text', 'tool_call']],
      ['tool_result', ['tool_result']],
      ['assistant', ['text']],
    ])
    expect(messages[1]!.content[2]).toMatchObject({ name: 'read_file', input: { path: 'a.ts' } })
    expect(messages[2]!.content[0]).toMatchObject({ output: { text: 'AAA' } })
    const events = await collectPages(page => store.listEvents(branch.conversationId, page))
    const types = events.map(({ type }) => type)
    for (const type of ['resume', 'plan', 'permission', 'tool_started', 'tool_ended', 'turn_ended'] as const)
      expect(types).toContain(type)
    expect(events.find(({ type }) => type === 'permission')?.data).toMatchObject({
      answer: { outcome: { outcome: 'selected', optionId: 'yes' } },
    })
    const [turn] = await collectPages(page => store.listTurns(branch.conversationId, page))
    expect(turn).toMatchObject({ status: 'complete', model: 'good', usage: { cost: 0.25 } })
    expect(events.find(({ type }) => type === 'turn_ended')?.data).toEqual({ stop: 'end_turn' })
  })

  it('that is cancelled keeps the text that has arrived, and the next one knows it once', async () => {
    await using stage = await openStage()
    const editor = await stage.start(forgetful)
    const id = await editor.newSession()
    stage.model.next({ type: 'text', text: 'HALF-SAID' }, { type: 'wait' })
    const prompted = editor.prompt(id, first)
    await editor.untilShown(id, 'HALF-SAID')
    editor.cancel(id)
    expect(await prompted).toEqual({ stopReason: 'cancelled' })
    await using store = await storeOf(stage)
    const { branch, messages } = await pathIn(store)
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', metadata: { interrupted: true } })
    expect((await collectPages(page => store.listTurns(branch.conversationId, page)))[0]).toMatchObject({
      status: 'interrupted',
    })
    await editor.prompt(id, second)
    expect([first, 'HALF-SAID', second].map(text => timesGiven(stage.model.last, text))).toEqual([1, 1, 1])
  })

  it('waits for the one before it in the same session, and not for other sessions', async () => {
    await using stage = await openStage()
    const editor = await stage.start(forgetful)
    const [one, other] = [await editor.newSession(), await editor.newSession()]
    stage.model.answerTo(first, { type: 'text', text: 'slow' }, { type: 'wait' })
    const slow = editor.prompt(one, first)
    await editor.untilShown(one, 'slow')
    const after = editor.prompt(one, second)
    await editor.prompt(other, third)
    expect(stage.model.turns.some(turn => timesGiven(turn, second) > 0)).toBe(false)
    stage.model.proceed()
    await Promise.all([slow, after])
    expect([first, second, third].map(text => timesGiven(stage.model.last, text))).toEqual([1, 1, 0])
    expect(editor.thread(other).times(second)).toBe(0)
  })

  it('is cancelled together with those that wait for it', async () => {
    await using stage = await openStage()
    const editor = await stage.start(forgetful)
    const id = await editor.newSession()
    stage.model.next({ type: 'text', text: 'slow' }, { type: 'wait' })
    const running = editor.prompt(id, first)
    await editor.untilShown(id, 'slow')
    const waiting = editor.prompt(id, second)
    editor.cancel(id)
    expect(await Promise.all([running, waiting])).toEqual([
      { stopReason: 'cancelled' },
      { stopReason: 'cancelled' },
    ])
    expect(stage.model.turns).toHaveLength(1)
  })

  it('relays permission requests also after a restart of the agent', async () => {
    await using stage = await openStage()
    const editor = await stage.start(behindProxy(agentCommand('dies')))
    const id = await editor.newSession()
    const tool = {
      type: 'tool',
      name: 'write',
      title: 'Write',
      input: {},
      output: 'WRITTEN',
      asks: true,
    } as const
    stage.model.next(tool, { type: 'text', text: 'half' }, { type: 'die' })
    await editor.prompt(id, first)
    stage.model.next(tool, { type: 'text', text: 'done' })
    expect(await editor.prompt(id, second)).toEqual({ stopReason: 'end_turn' })
    const asked = editor.messages.filter(one => one?.method === 'session/request_permission')
    expect(asked).toHaveLength(2)
    expect(asked[0]!.id).not.toEqual(asked[1]!.id)
    expect(
      editor
        .thread(id)
        .messages.filter(({ role }) => role === 'tool')
        .map(({ text }) => text),
    ).toEqual(['Write (completed)', 'Write (completed)'])
  })

  it("has the title of the person's message, and titles that the agent makes of injected text are hidden", async () => {
    await using stage = await openStage()
    const editor = await stage.start(behindProxy(agentCommand('dies')))
    const id = await editor.newSession()
    stage.model.next({ type: 'title', title: 'AGENTS-OWN' }, { type: 'text', text: 'half' }, { type: 'die' })
    await editor.prompt(id, 'Why is it red?')
    expect(editor.lines.join('\n')).toContain('AGENTS-OWN')
    stage.model.next(
      { type: 'title', title: '<conversation_history> The following' },
      { type: 'text', text: 'ok' },
    )
    await editor.prompt(id, second)
    expect(editor.lines.join('\n')).not.toContain('conversation_history')
    const { sessions } = await editor.request('session/list', {})
    expect(sessions).toMatchObject([{ sessionId: id, title: 'Why is it red?' }])
  })
})

describe('a session id that the agent uses twice', () => {
  it('gets another id for the editor, and the sessions do not mix', async () => {
    await using stage = await openStage()
    const command = behindProxy([process.execPath, join(import.meta.dirname, 'counting-agent.ts')])
    const before = await stage.start(command)
    const one = await before.newSession()
    expect(one).toBe('1')
    await before.prompt(one, first)
    await before.kill9()

    const after = await stage.start(command)
    const two = await after.newSession()
    expect(two).not.toBe('1')
    await after.prompt(two, second)
    expect([first, second].map(text => timesGiven(stage.model.last, text))).toEqual([0, 1])
    expect(after.updates(two).length).toBeGreaterThan(0)
    expect(after.updates('1')).toEqual([])
    await after.load(one)
    await after.prompt(one, third)
    expect([first, second, third].map(text => timesGiven(stage.model.last, text))).toEqual([1, 0, 1])
    expect([first, answerMarker(1)].map(text => after.thread(one).times(text))).toEqual([1, 1])
    expect(after.thread(two).times(third)).toBe(0)
  })
})

describe('when only the proxy is killed', () => {
  it('the agent exits as well, and the next proxy continues', async () => {
    await using stage = await openStage()
    const before = await stage.start(forgetful)
    const id = await before.newSession()
    await before.prompt(id, first)
    process.kill(before.pid, 'SIGKILL')
    await vi.waitUntil(() => before.leftovers().length === 0, { timeout: 10_000, interval: 20 })
    const after = await stage.start(forgetful)
    await after.prompt(id, second)
    expect([first, second].map(text => timesGiven(stage.model.last, text))).toEqual([1, 1])
  })
})
