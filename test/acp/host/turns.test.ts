import { describe, expect, it, vi } from 'vitest'
import type { PermissionRequest } from '../../../src/acp/host/permission.ts'
import type { AgentEvent } from '../../../src/agent/run/events.ts'
import { textOf } from '../../../src/core/message.ts'
import { agentCommand } from '../agents/harness.ts'
import { answerMarker, marker, slowly, timesGiven } from '../agents/model-server.ts'
import type { ToolStep } from '../agents/step.ts'
import { openHosting } from './hosting.ts'

/** A turn with another program's agent, from the message to the end. */

const [first, second, third] = [marker('first'), marker('second'), marker('third')]
const readFile: ToolStep = {
  type: 'tool',
  name: 'read_file',
  title: 'Read a.txt',
  input: { path: 'a.txt' },
  output: 'the text',
  callId: 'call-1',
}

describe('the start of an agent', () => {
  it('is the same by start() and by the first message (S4-10, S4-11, S4-25, S4-28, S4-31)', async () => {
    await using hosting = await openHosting()
    await hosting.host('good').say('talk', first)
    const explicit = hosting.host('good')
    expect(await explicit.wasResumed('talk')).toBe(false)
    expect(await explicit.start('talk')).toEqual({
      transcript: null,
      outcome: 'resumed',
      injected: 0,
      untold: 0,
      failed: [],
    })
    expect(await explicit.wasResumed('talk')).toBe(true)
    expect(await explicit.isFirstMessage('talk')).toBe(true)
    const said = await explicit.say('talk', second)
    const implicit = await hosting.host('good').say('talk', third)
    expect(said.memory).toEqual(implicit.memory)
    expect(said.memory).toMatchObject({ outcome: 'resumed', injected: 0 })
    expect(new Set(hosting.model.turns.map(({ sessionId }) => sessionId)).size).toBe(1)
    for (const text of [first, second, third]) expect(timesGiven(hosting.model.last, text)).toBe(1)
  })

  it('happens once for all messages before the agent is ready; they wait, and the history is injected once (S4-37, S4-18)', async () => {
    await using hosting = await openHosting()
    await hosting.host('forgetful').say('talk', first)
    const host = hosting.host('forgetful')
    const [one, two] = await Promise.all([host.say('talk', second), host.say('talk', third)])
    expect(host.agents()).toHaveLength(1)
    expect([one.memory?.outcome, two.memory?.outcome]).toEqual(['injected', undefined])
    expect(timesGiven(hosting.model.last, '<conversation_history>')).toBe(1)
    for (const text of [first, second, third, answerMarker(2)])
      expect(timesGiven(hosting.model.last, text)).toBe(1)
    const questions = (await hosting.said('talk')).filter(({ role }) => role === 'user').map(textOf)
    expect(questions).toEqual([first, second, third])
  })

  it('keeps the order of the messages, and asking about a conversation does not create one (S4-20, S4-25)', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('forgetful')
    expect([await host.isFirstMessage('talk'), await host.wasResumed('talk')]).toEqual([true, false])
    expect(await hosting.store.findByKey('talk')).toBeNull()
    const words = ['one', 'two', 'three', 'four']
    await Promise.all(words.map(word => host.send('talk', word).result()))
    const said = (await hosting.said('talk')).filter(({ role }) => role === 'user').map(textOf)
    expect(said).toEqual(words)
  })

  it('happens after the message is stored (S4-42, S4-16)', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('forgetful')
    hosting.model.answerTo(first, { type: 'wait' }, { type: 'text', text: 'late' })
    const run = host.send('talk', first)
    await hosting.model.stopped()
    expect(await hosting.words('talk')).toEqual([`user: ${first}`])
    hosting.model.proceed()
    expect(await run.result()).toMatchObject({ status: 'complete', stop: 'stop', text: 'late', saved: true })
  })
})

describe('a turn', () => {
  it('is stored with thoughts, text, calls and their results, plan and stop reason', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('good')
    hosting.model.next(
      { type: 'thought', text: 'First I read.' },
      { type: 'plan', steps: ['read', 'answer'] },
      { type: 'text', text: 'I read it.' },
      readFile,
      { type: 'usage', used: 1_200, size: 200_000 },
      { type: 'text', text: 'It says: ' },
      { type: 'text', text: 'the text.' },
      { type: 'stop', reason: 'max_tokens' },
    )
    const { events, reply } = await host.say('talk', first)
    expect(reply).toMatchObject({ status: 'complete', stop: 'length', steps: 2, text: 'It says: the text.' })
    const said = await hosting.said('talk')
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool_result', 'assistant'])
    expect(said[1]!.content).toMatchObject([
      { type: 'thinking', text: 'First I read.' },
      { type: 'text', text: 'I read it.' },
      { type: 'tool_call', callId: 'call-1', name: 'read_file', input: { path: 'a.txt' } },
    ])
    expect(said[2]!.content).toMatchObject([{ type: 'tool_result', callId: 'call-1' }])
    expect(JSON.stringify(said[2]!.content)).toContain('the text')
    const types = events.map(({ type }) => type)
    expect(types.filter(type => type !== 'text' && type !== 'thinking')).toEqual(
      ['started', 'memory', 'plan', 'tool_started', 'tool_ended', 'ended'].flatMap(type =>
        type === 'tool_started' || type === 'ended' ? ['answered', type] : [type],
      ),
    )
    const [plan] = await hosting.traces('talk', 'plan')
    expect(JSON.stringify(plan!.data)).toContain('"read"')
    const [ended] = await hosting.traces('talk', 'turn_ended')
    expect(ended!.data).toMatchObject({ stop: 'max_tokens' })
  })

  it('contains the output of commands that the agent shows in terminals', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('good')
    const step = { type: 'command', command: 'npm test', output: ['1 ', 'passed'], exitCode: 0 } as const
    hosting.model.next({ ...step, through: 'terminal_output' }, { type: 'text', text: 'Done.' })
    const { events } = await host.say('talk', first)
    expect(events.find(({ type }) => type === 'tool_ended')).toMatchObject({ output: '1 passed' })
    expect((await hosting.said('talk'))[2]!.content).toMatchObject([{ output: '1 passed' }])
    expect((await hosting.store.search('"1 passed"')).items).toHaveLength(1)
  })

  it("costs what the agent's session has cost since the turn began", async () => {
    await using hosting = await openHosting()
    const costs = (cost: number) =>
      hosting.model.next({ type: 'usage', used: 1, size: 2, cost }, { type: 'text', text: 'Done.' })
    const host = hosting.host('good')
    for (const [soFar, cost] of [
      [0.25, 0.25],
      [0.75, 0.5],
    ] as const) {
      costs(soFar)
      expect((await host.say('talk', first)).reply.usage).toEqual({ cost })
    }
    costs(1)
    const resumed = await hosting.host('good').say('talk', second)
    expect(resumed.reply.usage).toEqual({})
    const { conversation } = await hosting.store.resolve('talk')
    expect(conversation.cost).toBe(0.75)
  })

  it('that is cancelled keeps the text that has arrived, and the agent keeps running and remembers', async () => {
    await using hosting = await openHosting()
    const host = hosting.host('good')
    hosting.model.answerTo(first, ...slowly('HALF an answer', 5), { type: 'wait' })
    const run = host.send('talk', first)
    const drawn: string[] = []
    for await (const event of run) {
      if (event.type === 'text') drawn.push(event.text)
      if (drawn.join('') === 'HALF an answer') run.abort(new DOMException('interrupted', 'AbortError'))
    }
    expect(await run.result()).toMatchObject({
      status: 'interrupted',
      stop: 'aborted',
      text: 'HALF an answer',
    })
    const [, answer] = await hosting.said('talk')
    expect([textOf(answer!), answer!.metadata]).toEqual(['HALF an answer', { interrupted: true }])
    const [pid] = host.agents()
    const { memory } = await host.say('talk', second)
    expect(memory).toBeUndefined()
    expect(host.agents()).toEqual([pid])
    expect(timesGiven(hosting.model.last, first)).toBe(1)
    expect(timesGiven(hosting.model.last, 'HALF an answer')).toBe(1)
  })
})

describe('a permission request', () => {
  it("is passed on with the agent's own options, answered, and stored", async () => {
    await using hosting = await openHosting()
    const asked: PermissionRequest[] = []
    const host = hosting.host('good', {
      onPermission: async request => {
        asked.push(request)
        return 'yes'
      },
    })
    hosting.model.next({ ...readFile, asks: true })
    const { events } = await host.say('talk', first)
    expect(asked).toMatchObject([
      {
        title: 'Read a.txt',
        options: [
          { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ],
      },
    ])
    expect(events.find(({ type }) => type === 'tool_ended')).toMatchObject({ isError: false })
    const [trace] = await hosting.traces('talk', 'permission')
    expect(trace!.data).toMatchObject({
      toolCall: { toolCallId: 'call-1' },
      answer: { outcome: { outcome: 'selected', optionId: 'yes' } },
    })
  })

  it('is refused by default', async () => {
    await using hosting = await openHosting()
    hosting.model.next({ ...readFile, asks: true })
    const { events } = await hosting.host('good').say('talk', first)
    expect(events.find(({ type }) => type === 'tool_ended')).toMatchObject({ isError: true })
    const [trace] = await hosting.traces('talk', 'permission')
    expect(trace!.data).toMatchObject({ answer: { outcome: { outcome: 'selected', optionId: 'no' } } })
  })

  it('is aborted when the turn is cancelled', async () => {
    await using hosting = await openHosting()
    const wondering = Promise.withResolvers<void>()
    const decide = Promise.withResolvers<string>()
    let asked = 0
    const host = hosting.host('good', {
      onPermission: (_, signal) => {
        asked++
        wondering.resolve()
        const calledOff = new Promise<null>(resolve => signal.addEventListener('abort', () => resolve(null)))
        return Promise.race([calledOff, decide.promise])
      },
    })
    hosting.model.next({ ...readFile, asks: true }, { type: 'wait' })
    const run = host.send('talk', first)
    await wondering.promise
    // A request in another conversation stays open.
    hosting.model.next({ ...readFile, callId: 'call-2', asks: true })
    const other = host.send('elsewhere', second)
    await vi.waitUntil(() => asked === 2, { interval: 5 })
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    decide.resolve('yes')
    const choices: AgentEvent[] = []
    for await (const event of other) if (event.type === 'asked') choices.push(event)
    expect(choices).toMatchObject([{ choice: 'Allow', isAllowed: true }])
    const [trace] = await hosting.traces('talk', 'permission')
    expect(trace!.data).toMatchObject({ answer: { outcome: { outcome: 'cancelled' } } })
  })
})

describe('closing a host', () => {
  it('ends the turns, leaves no process, and refuses further messages', async () => {
    await using hosting = await openHosting()
    const host = hosting.host(agentCommand('good'))
    hosting.model.answerTo(first, { type: 'text', text: 'HALF' }, { type: 'wait' })
    const run = host.send('talk', first)
    for await (const event of run) if (event.type === 'text') break
    expect(host.agents()).toHaveLength(1)
    await host.close()
    expect(host.agents()).toEqual([])
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    expect(await hosting.words('talk')).toEqual([`user: ${first}`, 'assistant: HALF'])
    expect(() => host.send('talk', second)).toThrow(/closed/)
  })
})
