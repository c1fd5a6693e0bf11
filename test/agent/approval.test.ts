import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgent } from '../../src/agent/agent.ts'
import { allowTools, approvalMemory } from '../../src/agent/approval/approval.ts'
import { changedLines } from '../../src/agent/approval/changed-lines.ts'
import { subagent } from '../../src/agent/subagent.ts'
import { type ToolDefinition, tool } from '../../src/agent/tools/tool.ts'
import type { ApprovalAnswer, ApprovalRequest } from '../../src/core/approval.ts'
import { collectPages } from '../../src/core/pages.ts'
import type { Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { eventsOf, said, world } from './build.ts'

const call = (name: string, id = 'c1', input: object = {}) => ({ name, id, input: input as never })

/** A tool that counts its runs. */
function counting(more: Partial<ToolDefinition<Record<string, unknown>>> = {}) {
  let runs = 0
  const counter = tool({
    description: '',
    input: z.record(z.string(), z.unknown()) as never,
    run: () => ++runs,
    ...more,
  } as ToolDefinition<Record<string, unknown>>)
  return { counter: { ...counter, schema: { type: 'object' } }, runs: () => runs }
}

const anyInput = z.object({})

function counted(more: Partial<ToolDefinition<object>> = {}) {
  let runs = 0
  const one = tool({ description: '', input: anyInput, run: () => ++runs, ...more })
  return { one, runs: () => runs }
}

/** Answers every request with the same word, and keeps them. */
function person(answer: ApprovalAnswer) {
  const requests: ApprovalRequest[] = []
  const approve = async (request: ApprovalRequest) => {
    requests.push(request)
    return answer
  }
  return { requests, approve }
}

async function typesOf(store: Store, key: string): Promise<string[]> {
  const place = await store.findByKey(key)
  const events = await collectPages(page => store.listEvents(place!.conversation.id, page))
  return events.map(({ type }) => type)
}

describe('a call of a tool that changes something', () => {
  it('is asked for before its start is stored, and runs once it is allowed', async () => {
    const { one, runs } = counted()
    const stored: string[][] = []
    await using here = await world([{ calls: [call('write')] }, 'done'], {
      tools: { write: one },
      approve: async () => {
        stored.push(await typesOf(here.store, 'k'))
        return 'allow' as const
      },
    })
    const events = await eventsOf(here.agent.send('k', 'go'))
    const order = events.map(({ type }) => type).filter(type => /^(asking|asked|tool_)/.test(type))
    expect(order).toEqual(['asking', 'asked', 'tool_started', 'tool_ended'])
    expect(stored).toEqual([['approval_requested']])
    expect(await typesOf(here.store, 'k')).toEqual([
      ...['approval_requested', 'permission', 'tool_started', 'tool_ended'],
    ])
    expect(runs()).toBe(1)
  })

  it('does not run if it is denied: the model is told, and no start is stored', async () => {
    const { one, runs } = counted()
    await using here = await world([{ calls: [call('write')] }, 'all right'], {
      tools: { write: one },
      approve: person('deny').approve,
    })
    expect((await here.agent.ask('k', 'go')).text).toBe('all right')
    expect(runs()).toBe(0)
    expect((await said(here.store, 'k'))[2]).toContain('did not allow')
    expect(await typesOf(here.store, 'k')).toEqual(['approval_requested', 'permission'])
  })

  it('is asked for once if the answer is for the conversation, and again in another conversation', async () => {
    const { one, runs } = counted()
    const { approve, requests } = person('allow_in_conversation')
    const again = () => ({ calls: [call('write'), call('write', 'c2')] })
    let n = 0
    await using here = await world(() => (n++ % 2 === 0 ? again() : 'done'), {
      tools: { write: one },
      approve,
    })
    await here.agent.ask('k', 'go')
    await here.agent.ask('k', 'again')
    expect([requests.length, runs()]).toEqual([1, 4])
    await here.agent.ask('other', 'go')
    expect([requests.length, runs()]).toEqual([2, 6])
  })

  it('is never asked for again if the answer is always, also by another agent with the same memory', async () => {
    const { one } = counted()
    const { approve, requests } = person('allow_always')
    const approvals = approvalMemory()
    const options = { tools: { write: one }, approve, approvals }
    await using here = await world([{ calls: [call('write')] }, 'done'], options)
    await here.agent.ask('k', 'go')
    await using second = here.another([{ calls: [call('write')] }, 'done'], options)
    await second.ask('other', 'go')
    expect(requests).toHaveLength(1)
  })

  it('runs without asking in an agent without approve, unless the tool needs an approval', async () => {
    const plain = counted()
    const guarded = counted({ needsApproval: true })
    const calls = [call('plain'), call('guarded', 'c2')]
    await using here = await world([{ calls }, 'done'], { tools: { plain: plain.one, guarded: guarded.one } })
    await here.agent.ask('k', 'go')
    expect([plain.runs(), guarded.runs()]).toEqual([1, 0])
    // It waits in the store: see pending-approvals.test.ts.
    expect(await here.store.listApprovals()).toMatchObject([{ name: 'guarded' }])
  })

  it('is not asked for if the tool is read-only, or says that it needs no approval', async () => {
    const { approve, requests } = person('deny')
    const reads = counted({ readOnly: true })
    const harmless = counted({ needsApproval: false })
    const calls = [call('reads'), call('harmless', 'c2')]
    await using here = await world([{ calls }, 'done'], {
      tools: { reads: reads.one, harmless: harmless.one },
      approve,
    })
    await here.agent.ask('k', 'go')
    expect([requests.length, reads.runs(), harmless.runs()]).toEqual([0, 1, 1])
  })

  it('is described by its tool: title, change, reason and what a longer answer covers', async () => {
    const { approve, requests } = person('allow')
    const { counter } = counting({
      kind: 'edit',
      needsApproval: async ({ path }) => ({
        title: `edit ${path}`,
        preview: { type: 'diff', path: `/p/${path}`, oldText: 'a', newText: 'b' },
        reason: 'outside the project',
        scope: `edit ${path}`,
      }),
    })
    await using here = await world([{ calls: [call('edit', 'c1', { path: 'x' })] }, 'done'], {
      tools: { edit: counter },
      approve,
    })
    const { branch, turn } = await here.agent.ask('k', 'go')
    expect(requests).toMatchObject([
      {
        callId: 'c1',
        name: 'edit',
        input: { path: 'x' },
        kind: 'edit',
        title: 'edit x',
        preview: { type: 'diff', newText: 'b' },
        reason: 'outside the project',
        scope: 'edit x',
        conversationId: branch!.conversationId,
        turn,
      },
    ])
    // A request can be stored and answered later by another process.
    expect(JSON.parse(JSON.stringify(requests[0]))).toEqual(requests[0])
  })

  it('is not asked for if its tool finds beforehand that it cannot work', async () => {
    const { approve, requests } = person('allow')
    const { one, runs } = counted({
      needsApproval: () => {
        throw new Error('there is no such file')
      },
    })
    await using here = await world([{ calls: [call('edit')] }, 'oh'], { tools: { edit: one }, approve })
    await here.agent.ask('k', 'go')
    expect([requests.length, runs()]).toEqual([0, 0])
    expect((await said(here.store, 'k'))[2]).toContain('there is no such file')
  })

  it('is denied if approve throws', async () => {
    const { one, runs } = counted()
    await using here = await world([{ calls: [call('write')] }, 'oh'], {
      tools: { write: one },
      approve: () => {
        throw new Error('the phone is off')
      },
    })
    await here.agent.ask('k', 'go')
    expect(runs()).toBe(0)
    expect((await said(here.store, 'k'))[2]).toContain('the phone is off')
  })

  it('that waits for an answer is called off with its turn, and asked for again when the turn is resumed', async () => {
    const { one, runs } = counted()
    const asked = Promise.withResolvers<void>()
    await using here = await world([{ calls: [call('write')] }, 'done'], {
      tools: { write: one },
      approve: () => {
        asked.resolve()
        return new Promise(() => undefined)
      },
    })
    const run = here.agent.send('k', 'go')
    await asked.promise
    run.abort()
    expect((await run.result()).status).toBe('interrupted')
    expect(await typesOf(here.store, 'k')).toEqual(['approval_requested'])
    const { approve, requests } = person('allow')
    await using second = here.another(['done'], { tools: { write: one }, approve })
    await second.resume('k').result()
    expect([requests.map(({ callId }) => callId), runs()]).toEqual([['c1'], 1])
  })

  it('is asked for one at a time, also if calls run in parallel', async () => {
    const { one } = counted()
    let open = 0
    let most = 0
    const calls = ['c1', 'c2', 'c3'].map(id => call('write', id))
    await using here = await world([{ calls }, 'done'], {
      tools: { write: one },
      async approve() {
        most = Math.max(most, ++open)
        await new Promise(setImmediate)
        open--
        return 'allow' as const
      },
    })
    await here.agent.ask('k', 'go')
    expect(most).toBe(1)
  })

  it('is decided by the turn if the turn has an approve of its own', async () => {
    const { one, runs } = counted()
    await using here = await world([{ calls: [call('write')] }, 'done'], {
      tools: { write: one },
      approve: person('deny').approve,
    })
    await here.agent.ask('k', 'go', { approve: () => 'allow' })
    expect(runs()).toBe(1)
  })

  it('of a subagent is decided by the agent that called it', async () => {
    const { one, runs } = counted()
    const { approve, requests } = person('allow')
    const helper = subagent({
      name: 'helper',
      description: '',
      model: scripted({ script: [{ calls: [call('write', 'inner')] }, 'written'] }),
      tools: { write: one },
    })
    const model = scripted({ script: [{ calls: [call('helper', 'outer', { task: 'write' })] }, 'done'] })
    await using agent = createAgent({ model, tools: { helper }, approve })
    await agent.ask('k', 'go')
    expect([requests.map(({ callId }) => callId), runs()]).toEqual([['inner'], 1])
  })
})

describe('tools that are allowed beforehand', () => {
  const signal = new AbortController().signal
  const request = (name: string, reason: string | null = null) => ({ name, reason }) as ApprovalRequest

  it('run, and others do not; all means every tool', () => {
    expect(allowTools(['a'])(request('a'), signal)).toBe('allow')
    expect(allowTools(['a'])(request('b'), signal)).toBe('deny')
    expect(allowTools(['all'])(request('b'), signal)).toBe('allow')
  })

  it('do not run if the call has a reason to ask in every mode', () => {
    expect(allowTools(['all'])(request('a', 'outside the project'), signal)).toBe('deny')
  })
})

describe('the lines of a change', () => {
  const shown = (a: string | null, b: string) =>
    changedLines(a, b).map(({ sign, text, line }) => `${line}${sign}${text}`)

  it('are removed and added lines between lines that stay', () => {
    expect(shown('1\n2\n3\n4\n5\n6\n', '1\n2\n3\nx\ny\n5\n6\n')).toEqual([
      ...['2 2', '3 3', '4-4', '4+x', '5+y', '5 5', '6 6'],
    ])
  })

  it('are all lines of a new file, and none of a file that stays as it is', () => {
    expect(shown(null, 'a\nb\n')).toEqual(['1+a', '2+b'])
    expect(shown('a\n', 'a\n')).toEqual([])
  })
})
