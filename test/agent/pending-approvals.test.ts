import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { allowTools } from '../../src/agent/approval/approval.ts'
import { subagent } from '../../src/agent/subagent.ts'
import { type ToolDefinition, tool } from '../../src/agent/tools/tool.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { scripted } from '../../src/models/scripted.ts'
import { blocksOf, said, statuses, world } from './build.ts'

const call = (name: string, id = 'c1', input: object = {}) => ({ name, id, input: input as never })

/** A tool that needs an approval and counts its runs. */
function guarded(more: Partial<ToolDefinition<object>> = {}) {
  let runs = 0
  const one = tool({ description: '', input: z.object({}), needsApproval: true, run: () => ++runs, ...more })
  return { one, runs: () => runs }
}

describe('an approval that no person is there to give', () => {
  it('is stored, ends the turn without a holder, and is answered later by another agent', async () => {
    const { one, runs } = guarded()
    await using here = await world([{ text: 'I will.', calls: [call('deploy')] }], { tools: { deploy: one } })
    const reply = await here.agent.ask('k', 'go')
    expect([reply.status, reply.stop, reply.saved]).toEqual(['interrupted', 'approval', true])
    const [waiting] = await here.store.listApprovals()
    expect(reply.approvals).toMatchObject([{ id: waiting!.id, name: 'deploy', callId: 'c1' }])
    const { conversation } = (await here.store.findByKey('k'))!
    expect(await here.store.findTurn(conversation.id, reply.turn)).toMatchObject({
      ...{ status: 'interrupted', leaseUntil: null },
    })
    await here.store.answerApproval(conversation.id, waiting!.id, { answer: 'allow', by: 'ada' })
    expect(runs()).toBe(0)
    const other = here.another(['It is deployed.'], { tools: { deploy: one } })
    expect(await other.resume('k').result()).toMatchObject({ status: 'complete', text: 'It is deployed.' })
    expect(runs()).toBe(1)
    expect(await statuses(here.store, 'k')).toEqual(['complete'])
    expect(await said(here.store, 'k')).toEqual([
      ...['user: go', 'assistant: I will. [deploy]', 'tool_result: 1', 'assistant: It is deployed.'],
    ])
  })

  it('reaches the model as a result with the reason if it is denied', async () => {
    const { one, runs } = guarded()
    await using here = await world([{ calls: [call('deploy')] }, 'As you wish.'], { tools: { deploy: one } })
    const { approvals } = await here.agent.ask('k', 'go')
    const { conversationId, id } = approvals[0]!
    await here.store.answerApproval(conversationId!, id, { answer: 'deny', comment: 'not on a Friday' })
    expect((await here.agent.resume('k').result()).text).toBe('As you wish.')
    expect(runs()).toBe(0)
    expect((await said(here.store, 'k'))[2]).toContain('not on a Friday')
  })

  it('stays pending if the turn is resumed without an answer, and the model is not called', async () => {
    const { one } = guarded()
    let calls = 0
    const model = scripted({ script: [{ calls: [call('deploy')] }] })
    const counted = {
      ...model,
      stream(request: ModelRequest) {
        calls++
        return model.stream(request)
      },
    }
    await using here = await world([], { tools: { deploy: one }, model: counted })
    await here.agent.ask('k', 'go')
    const again = await here.agent.resume('k').result()
    expect([again.stop, again.approvals.length, calls]).toEqual(['approval', 1, 1])
    expect(await here.store.listApprovals({ status: 'any' })).toHaveLength(1)
  })

  it('holds up neither other calls of the answer nor other approvals', async () => {
    const [first, second] = [guarded(), guarded()]
    const free = tool({ description: '', input: z.object({}), run: () => 'free' })
    const calls = [call('first', 'c1'), call('free', 'c2'), call('second', 'c3')]
    const tools = { first: first.one, second: second.one, free }
    await using here = await world([{ calls }, 'done'], { tools })
    const { approvals } = await here.agent.ask('k', 'go')
    expect(approvals.map(({ name }) => name)).toEqual(['first', 'second'])
    const { conversationId } = approvals[0]!
    await here.store.answerApproval(conversationId!, approvals[1]!.id, { answer: 'allow' })
    const half = await here.agent.resume('k').result()
    expect([half.stop, first.runs(), second.runs()]).toEqual(['approval', 0, 1])
    await here.store.answerApproval(conversationId!, approvals[0]!.id, { answer: 'allow' })
    expect((await here.agent.resume('k').result()).text).toBe('done')
    expect([first.runs(), second.runs()]).toEqual([1, 1])
  })

  it('is withdrawn by the next message, and the model is told that the call was not run', async () => {
    const { one, runs } = guarded()
    const requests: ModelRequest[] = []
    const model = scripted({ script: [{ calls: [call('deploy')] }, 'All right.', 'Still not.'] })
    const watched = {
      ...model,
      stream(request: ModelRequest) {
        requests.push(request)
        return model.stream(request)
      },
    }
    await using here = await world([], { tools: { deploy: one }, model: watched })
    const { approvals } = await here.agent.ask('k', 'go')
    expect((await here.agent.ask('k', 'wait, do not')).text).toBe('All right.')
    await here.agent.ask('k', 'and now?')
    for (const request of requests.slice(1)) {
      const [result] = blocksOf(request, 'tool_result')
      expect(result).toMatchObject({ callId: 'c1', isError: true })
      expect(result!.output).toMatch(/was not run: it needed an approval/)
    }
    const { conversationId, id } = approvals[0]!
    await expect(here.store.answerApproval(conversationId!, id, { answer: 'allow' })).rejects.toMatchObject({
      code: 'expired',
    })
    expect(await here.store.listApprovals()).toEqual([])
    expect(runs()).toBe(0)
  })

  it('depends on the input if the tool says so, and can be left for later by approve', async () => {
    const { one, runs } = guarded({
      input: z.object({ live: z.boolean() }) as never,
      needsApproval: (input: object) => (input as { live: boolean }).live,
    })
    const calls = [call('deploy', 'c1', { live: false }), call('deploy', 'c2', { live: true })]
    await using here = await world([{ calls }, 'done'], { tools: { deploy: one } })
    expect((await here.agent.ask('k', 'go')).approvals.map(({ callId }) => callId)).toEqual(['c2'])
    expect(runs()).toBe(1)
    const plain = tool({ description: '', input: z.object({}), run: () => 1 })
    const approve = allowTools(['other'], 'later')
    const other = here.another([{ calls: [call('plain')] }], { tools: { plain }, approve })
    expect((await other.ask('k2', 'go')).stop).toBe('approval')
  })

  it('is the answer of the other process if two answer at the same time', async () => {
    const { one, runs } = guarded()
    await using here = await world([{ calls: [call('deploy')] }, 'done'], {
      tools: { deploy: one },
      approve: async ({ conversationId }) => {
        const [waiting] = await here.store.listApprovals()
        await here.store.answerApproval(conversationId!, waiting!.id, { answer: 'deny', comment: 'no' })
        return 'allow' as const
      },
    })
    await here.agent.ask('k', 'go')
    expect(runs()).toBe(0)
    expect((await said(here.store, 'k'))[2]).toContain('did not allow this call: no')
  })

  it('is denied without a store, and in a subagent, whose caller waits for it', async () => {
    const { one, runs } = guarded()
    await using here = await world([{ calls: [call('helper', 'c1', { task: 'x' })] }, 'done'], {
      tools: {
        helper: subagent({
          name: 'helper',
          description: '',
          model: scripted({ script: [{ calls: [call('deploy')] }, 'I could not.'] }),
          tools: { deploy: one },
        }),
      },
    })
    const memory = here.another([{ calls: [call('deploy')] }, 'no'], {
      tools: { deploy: one },
      store: undefined as never,
    })
    expect((await memory.ask('m', 'go')).text).toBe('no')
    expect((await here.agent.ask('k', 'go')).text).toBe('done')
    expect((await said(here.store, 'k'))[2]).toContain('I could not.')
    expect(runs()).toBe(0)
    expect(await here.store.listApprovals()).toEqual([])
  })
})
