import { setImmediate as breath } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { agentCommand, openStage, type Stage } from './agents/harness.ts'
import { answerMarker, marker, timesGiven } from './agents/model-server.ts'
import { type SdkClient, startSdkClient } from './agents/sdk-client.ts'

/** The agents of the tests have exactly the faults that they claim, and the good one has none, as a client
 *  without a proxy sees it. */

const [first, second] = [marker('first'), marker('second')]

/** One turn, then the agent is killed and started again. */
async function afterDeath(
  stage: Stage,
  command: readonly string[],
): Promise<{ client: SdkClient; sessionId: string }> {
  await using before = await startSdkClient(stage, command)
  const sessionId = await before.newSession()
  await before.prompt(sessionId, first)
  expect(before.told('agent')).toContain(answerMarker(1))
  expect(stage.model.last.messages).toEqual([{ role: 'user', text: expect.stringContaining(first) }])
  return { client: await startSdkClient(stage, command), sessionId }
}

const code = (number: number) => expect.objectContaining({ code: number })

describe('the agents of the tests', () => {
  it.each(['forgetful', 'joins'] as const)(
    '%s has no capabilities, and forgets when its process ends',
    async name => {
      await using stage = await openStage()
      const { client, sessionId } = await afterDeath(stage, agentCommand(name))
      await using _ = client
      expect(client.capabilities.loadSession ?? false).toBe(false)
      expect(client.capabilities.sessionCapabilities ?? {}).toEqual({})
      await expect(client.load(sessionId)).rejects.toEqual(code(-32_601))
      await expect(client.prompt(sessionId, second)).rejects.toEqual(code(-32_002))
      await client.prompt(await client.newSession(), second, 'and more')
      expect(timesGiven(stage.model.last, first)).toBe(0)
      const between = name === 'joins' ? '' : '\n'
      expect(stage.model.last.messages).toEqual([{ role: 'user', text: `${second}${between}and more` }])
    },
  )

  it('liar advertises every capability and restores nothing', async () => {
    await using stage = await openStage()
    const { client, sessionId } = await afterDeath(stage, agentCommand('liar'))
    await using _ = client
    expect(client.capabilities).toMatchObject({ loadSession: true, sessionCapabilities: { resume: {} } })
    await expect(client.load(sessionId)).rejects.toEqual(code(-32_002))
    const params = { sessionId, cwd: stage.cwd }
    await expect(client.agent.request('session/resume', params)).rejects.toEqual(code(-32_002))
    await expect(client.agent.request('session/fork', params)).rejects.toEqual(code(-32_002))
    expect(await client.agent.request('session/list', {})).toEqual({ sessions: [] })
    expect(client.updates).toEqual([])
  })

  it('empty-load answers a load with success, replays nothing and knows nothing', async () => {
    await using stage = await openStage()
    const { client, sessionId } = await afterDeath(stage, agentCommand('empty-load'))
    await using _ = client
    await client.load(sessionId)
    expect(client.updates).toEqual([])
    await client.prompt(sessionId, second)
    expect(stage.model.last.messages).toEqual([{ role: 'user', text: second }])
  })

  it('early-load answers a load in the middle of its replay, and remembers', async () => {
    await using stage = await openStage()
    const { client, sessionId } = await afterDeath(stage, agentCommand('early-load'))
    await using _ = client
    await client.load(sessionId)
    await breath()
    expect(client.told('user')).toBe(first)
    expect(client.told('agent')).toBe('')
    await vi.waitUntil(() => client.told('agent').includes(answerMarker(1)))
    await client.prompt(sessionId, second)
    expect(timesGiven(stage.model.last, first)).toBe(1)
    expect(timesGiven(stage.model.last, answerMarker(1))).toBe(1)
  })

  const left = {
    nothing: null,
    question: [first, answerMarker(1), second],
    turns: [first, answerMarker(1)],
  } as const
  it.each(Object.entries(left))(
    'dies --keeps=%s ends in the middle of an answer and keeps only that',
    async (keeps, expected) => {
      await using stage = await openStage()
      const command = agentCommand('dies', `--keeps=${keeps}`)
      await using before = await startSdkClient(stage, command)
      const sessionId = await before.newSession()
      await before.prompt(sessionId, first)
      stage.model.next({ type: 'text', text: 'half an ' }, { type: 'die' })
      await expect(before.prompt(sessionId, second)).rejects.toThrow()
      expect(await before.ended).toBe(1)
      expect(before.told('agent')).toContain('half an ')
      await using after = await startSdkClient(stage, command)
      if (expected === null) return await expect(after.load(sessionId)).rejects.toEqual(code(-32_601))
      await after.load(sessionId)
      await after.prompt(sessionId, 'what is left?')
      for (const what of [first, answerMarker(1), second])
        expect(timesGiven(stage.model.last, what), what).toBe(
          (expected as readonly string[]).includes(what) ? 1 : 0,
        )
      expect(timesGiven(stage.model.last, 'half an')).toBe(0)
    },
  )

  it('repeats replays its own reminder as text of the user', async () => {
    await using stage = await openStage()
    const { client, sessionId } = await afterDeath(stage, agentCommand('repeats'))
    await using _ = client
    await client.load(sessionId)
    expect(client.told('user')).toMatch(/^<system-reminder>.*<\/system-reminder>MARK-first$/)
    await client.prompt(sessionId, second)
    expect(timesGiven(stage.model.last, first)).toBe(1)
  })

  it('notices sends a text before each answer that neither its model nor a replay contains', async () => {
    await using stage = await openStage()
    const { client, sessionId } = await afterDeath(stage, agentCommand('notices'))
    await using _ = client
    await client.load(sessionId)
    expect(client.told('agent')).toMatch(/^ANSWER-1/)
    await client.prompt(sessionId, second)
    expect(client.told('agent')).toMatch(/^ANSWER-1.*Model metadata.*ANSWER-2/)
    expect(timesGiven(stage.model.last, answerMarker(1))).toBe(1)
    expect(timesGiven(stage.model.last, 'Model metadata')).toBe(0)
  })

  it.each([-32_002, -32_602, -32_603, -32_000])(
    'unknown-codes refuses an unknown session with %d',
    async number => {
      await using stage = await openStage()
      const command = agentCommand('unknown-codes', `--code=${number}`)
      await using client = await startSdkClient(stage, command)
      const gone = 'unknown-codes-of-another-process'
      await expect(client.load(gone)).rejects.toEqual(code(number))
      const params = { sessionId: gone, cwd: stage.cwd }
      await expect(client.agent.request('session/resume', params)).rejects.toEqual(code(number))
      const sessionId = await client.newSession()
      await client.prompt(sessionId, first)
      await client.load(sessionId)
      expect(client.told('user')).toBe(first)
    },
  )
})

describe('the good agent', () => {
  const everything = ['close', 'delete', 'fork', 'list', 'load', 'resume']

  it('remembers after its death, by load and by resume', async () => {
    await using stage = await openStage()
    const { client, sessionId } = await afterDeath(stage, agentCommand('good'))
    await using _ = client
    await client.agent.request('session/resume', { sessionId, cwd: stage.cwd })
    expect(client.updates).toEqual([])
    await client.load(sessionId)
    expect(client.told('user')).toBe(first)
    expect(client.told('agent')).toContain(answerMarker(1))
    await client.prompt(sessionId, second)
    expect(timesGiven(stage.model.last, first)).toBe(1)
  })

  it('lists, forks, closes and deletes its sessions', async () => {
    await using stage = await openStage()
    await using client = await startSdkClient(stage, agentCommand('good'))
    const { agent } = client
    const sessionId = await client.newSession()
    await client.prompt(sessionId, first)
    const { sessionId: fork } = await agent.request('session/fork', { sessionId, cwd: stage.cwd })
    await client.prompt(fork, second)
    expect(timesGiven(stage.model.last, first)).toBe(1)
    const listed = async () => (await agent.request('session/list', {})).sessions.map(one => one.sessionId)
    expect((await listed()).sort()).toEqual([sessionId, fork].sort())
    await agent.request('session/close', { sessionId: fork })
    await expect(client.prompt(fork, 'closed')).rejects.toEqual(code(-32_002))
    await agent.request('session/delete', { sessionId: fork })
    expect(await listed()).toEqual([sessionId])
    await client.prompt(sessionId, 'the first continues')
    expect(timesGiven(stage.model.last, second)).toBe(0)
  })

  it('can lack any of these capabilities', async () => {
    await using stage = await openStage()
    await using all = await startSdkClient(stage, agentCommand('good'))
    expect(readCapabilities(all)).toEqual(everything)
    await using none = await startSdkClient(stage, agentCommand('good', `--without=${everything}`))
    expect(readCapabilities(none)).toEqual([])
    await using some = await startSdkClient(stage, agentCommand('good', '--without=load,fork'))
    expect(readCapabilities(some)).toEqual(['close', 'delete', 'list', 'resume'])
    const params = { sessionId: 'any', cwd: stage.cwd, mcpServers: [] }
    for (const method of everything)
      await expect(none.agent.request(`session/${method}` as string, params)).rejects.toEqual(code(-32_601))
  })

  it('accepts a system prompt, and drops one that is not sent again', async () => {
    await using stage = await openStage()
    await using client = await startSdkClient(stage, agentCommand('good', '--system-prompt'))
    const systemPrompt = { mode: 'append', content: [{ type: 'text', text: 'Be kind.' }] } as const
    const sessionId = await client.newSession({
      systemPrompt: { ...systemPrompt, content: [...systemPrompt.content] },
    })
    await client.prompt(sessionId, first)
    expect(stage.model.last.messages[0]).toEqual({ role: 'system', text: 'Be kind.' })
    await client.load(sessionId)
    expect(client.told('user')).not.toContain('kind')
    await client.prompt(sessionId, second)
    expect(timesGiven(stage.model.last, 'Be kind.')).toBe(0)
  })

  it.each(['yes', 'no'] as const)(
    'thinks, plans, requests a permission (%s), reports usage, and has modes',
    async permission => {
      await using stage = await openStage()
      await using client = await startSdkClient(stage, agentCommand('good'), permission)
      const sessionId = await client.newSession()
      await client.agent.request('session/set_mode', { sessionId, modeId: 'code' })
      stage.model.next(
        { type: 'thought', text: 'hm' },
        { type: 'plan', steps: ['look', 'say'] },
        {
          type: 'tool',
          name: 'read',
          title: 'Read a.txt',
          input: { path: 'a.txt' },
          output: 'A',
          asks: true,
        },
        { type: 'text', text: 'It says A.' },
        { type: 'usage', used: 10, size: 100 },
        { type: 'title', title: 'A file' },
        { type: 'stop', reason: 'max_tokens' },
      )
      expect(await client.prompt(sessionId, first)).toEqual({ stopReason: 'max_tokens' })
      const end = permission === 'yes' ? ['tool_call_update', 'tool_call_update'] : ['tool_call_update']
      expect(client.updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
        'agent_thought_chunk',
        'plan',
        'tool_call',
        ...end,
        'agent_message_chunk',
        'usage_update',
        'session_info_update',
      ])
      const status = permission === 'yes' ? 'completed' : 'failed'
      expect(client.updates.find(({ sessionUpdate }) => sessionUpdate === end[0])).toBeDefined()
      const live = client.updates.length
      const answer = await client.load(sessionId)
      expect(answer).toMatchObject({ modes: { currentModeId: 'code' } })
      expect(client.updates.slice(live).map(({ sessionUpdate }) => sessionUpdate)).toEqual([
        'user_message_chunk',
        'agent_thought_chunk',
        'tool_call',
        'agent_message_chunk',
      ])
      expect(client.updates.at(-2)).toMatchObject({ status })
    },
  )

  it('is cancelled in the middle of an answer, and keeps the part that it has sent', async () => {
    await using stage = await openStage()
    await using client = await startSdkClient(stage, agentCommand('good'))
    const sessionId = await client.newSession()
    stage.model.next({ type: 'text', text: 'half an ' }, { type: 'wait' }, { type: 'text', text: 'answer' })
    const turn = client.prompt(sessionId, first)
    await stage.model.stopped()
    await vi.waitUntil(() => client.told('agent') !== '')
    await client.agent.notify('session/cancel', { sessionId })
    expect(await turn).toEqual({ stopReason: 'cancelled' })
    await client.prompt(sessionId, second)
    expect(stage.model.last.messages.map(({ text }) => text)).toEqual([first, 'half an ', second])
  })
})

function readCapabilities({
  capabilities: { loadSession, sessionCapabilities },
}: SdkClient): readonly string[] {
  return [...(loadSession ? ['load'] : []), ...Object.keys(sessionCapabilities ?? {})].sort()
}
