import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/index.ts'
import { textOf } from '../../src/core/message.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import {
  createDispatcher,
  type DispatchEvent,
  type DispatcherOptions,
  submitTaskTool,
} from '../../src/dispatch/index.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'

const clock = { now: Date.UTC(2026, 0, 1) }
let store: Store
beforeEach(async () => {
  clock.now = Date.UTC(2026, 0, 1)
  store = await openStore(':memory:', {
    source: { now: () => clock.now, uuid: () => crypto.randomUUID() },
  })
})
afterEach(() => store.close())

const hour = 3_600_000
const source = async () => {
  const { systemDispatchSource } = await import('../../src/dispatch/index.ts')
  return { ...systemDispatchSource, now: () => clock.now }
}

async function dispatcherOf(options: Partial<DispatcherOptions> = {}) {
  const agentFor = () => ({ id: 'debugger', model: scripted(), system: 'You find bugs.' })
  return createDispatcher({ store, tasks: store, agentFor, ...options }, await source())
}

/** Roles and texts of the conversation of a task, on its active branch. */
async function saidIn(task: string, project: string | null = null): Promise<string[]> {
  const found = await store.findByTask(task, project)
  if (!found?.branch.head) return []
  return (await pathOf(store, found.branch.head)).map(message => `${message.role}: ${textOf(message)}`)
}

/** The texts that a model was given. */
function textsOf({ messages }: ModelRequest): string[] {
  return messages.map(({ content }) =>
    content.map(block => (block.type === 'text' ? block.text : `[${block.type}]`)).join(''),
  )
}

describe('a dispatcher', () => {
  it('continues one conversation over the dispatches of a task (S2-1, S2-2, S2-18, S2-25, S2-64)', async () => {
    const dispatcher = await dispatcherOf()
    const { id } = await store.submitTask({ project: 'web', description: 'My name is Ada.' })
    const first = await dispatcher.run(id)
    const second = await dispatcher.run(id, 'What is my name?')
    expect(second?.response).toBe('Your name is Ada.')
    expect(second?.conversation_id).toBe(first?.conversation_id)
    expect(await saidIn(id, 'web')).toEqual([
      'user: My name is Ada.',
      `assistant: ${first?.response}`,
      'user: What is my name?',
      'assistant: Your name is Ada.',
    ])
  })

  it('runs a queued dispatch that no worker has claimed before its own', async () => {
    const dispatcher = await dispatcherOf()
    const { id } = await store.submitTask({ description: 'My name is Ada.' })
    const started: number[] = []
    const result = await dispatcher.run(id, 'What is my name?', {
      onEvent: event => void (event.type === 'started' && started.push(event.dispatch.n)),
    })
    expect(result?.response).toBe('Your name is Ada.')
    expect(started).toEqual([1, 2])
    expect(await store.getDispatch(id, 1)).toMatchObject({ status: 'done' })
  })

  it('creates the conversation with project, task, prompt, metadata and expiry (S2-19, S2-20, S2-22)', async () => {
    const dispatcher = await dispatcherOf()
    const { id } = await store.submitTask({ id: 'bead-7', project: 'web', description: 'Find it' })
    const result = await dispatcher.run(id)
    const { conversation } = (await store.findByTask('bead-7', 'web'))!
    expect(conversation).toMatchObject({
      project: 'web',
      task: 'bead-7',
      ttlMs: 24 * hour,
      expiresAt: new Date(clock.now + 24 * hour),
      metadata: { agent_id: 'debugger', provider_id: 'scripted' },
      prompt: { text: 'You find bugs.' },
    })
    expect((await store.getTask(id)).conversationId).toBe(conversation.id)
    expect((await store.getDispatch(id, 1)).conversationId).toBe(result?.conversation_id)
  })

  it('tells the agent the description and the context (S2-26)', async () => {
    const dispatcher = await dispatcherOf()
    await store.submitTask({ id: 'a', description: 'Fix the leak' })
    await store.submitTask({ id: 'b', description: 'Fix the leak', context: 'It began on Monday.\nIn prod.' })
    for (const id of ['a', 'b']) await dispatcher.run(id)
    expect((await saidIn('a'))[0]).toBe('user: Fix the leak')
    expect((await saidIn('b'))[0]).toBe('user: Fix the leak\n\nContext:\nIt began on Monday.\nIn prod.')
  })

  it('returns and stores a result with all fields, and counts tokens (S2-12, S2-27, S2-29)', async () => {
    const model = scripted({ script: ['Found it.'] })
    const dispatcher = await dispatcherOf({ agentFor: () => ({ id: 'a1', model }) })
    const { id } = await store.submitTask({ description: 'Find it' })
    const result = await dispatcher.run(id, undefined, { worker: 'w9' })
    const { conversation } = (await store.findByTask(id))!
    expect(result).toEqual({
      task_id: id,
      dispatch: 1,
      worker_id: 'w9',
      agent_id: 'a1',
      conversation_id: conversation.id,
      response: 'Found it.',
      tokens_used: conversation.tokensUsed,
      completed_at: new Date(clock.now).toISOString(),
      success: true,
      saved: true,
    })
    expect(conversation.tokensUsed).toBeGreaterThan(0)
    expect(await store.getDispatch(id, 1)).toMatchObject({ status: 'done', result, worker: 'w9' })
    expect(await store.getTask(id)).toMatchObject({ status: 'done', updatedAt: new Date(clock.now) })
  })

  it('stores the same words twice, and each dispatch sees everything before (S2-65)', async () => {
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest) => {
      requests.push(request)
      return `Finding ${requests.length}.`
    }
    const dispatcher = await dispatcherOf({ agentFor: () => ({ model: scripted({ script }) }) })
    const { id } = await store.submitTask({ description: 'Investigate memory leak' })
    await dispatcher.run(id)
    await dispatcher.run(id, 'Continue investigation')
    await dispatcher.run(id, 'Continue investigation')
    expect(textsOf(requests[2]!)).toEqual([
      'Investigate memory leak',
      'Finding 1.',
      'Continue investigation',
      'Finding 2.',
      'Continue investigation',
    ])
    expect(await saidIn(id)).toHaveLength(6)
  })

  it('starts a new conversation when the old one has expired, and keeps both readable (S2-24, S2-31, S2-34)', async () => {
    const dispatcher = await dispatcherOf()
    const { id } = await store.submitTask({ description: 'My name is Ada.' })
    const first = await dispatcher.run(id)
    clock.now += 23 * hour
    const second = await dispatcher.run(id, 'Still there?')
    expect(second?.conversation_id).toBe(first?.conversation_id)
    clock.now += 23 * hour
    expect((await dispatcher.run(id, 'And now?'))?.conversation_id).toBe(first?.conversation_id)
    clock.now += 25 * hour
    const later = await dispatcher.run(id, 'What is my name?')
    expect(later?.conversation_id).not.toBe(first?.conversation_id)
    expect(later?.response).not.toContain('Ada')
    const { conversation } = (await store.findByTask(id))!
    expect(conversation.metadata).toMatchObject({ previous_conversation: first?.conversation_id })
    expect((await store.getConversation(first!.conversation_id!)).messages).toBe(6)
    const dispatches = await collectPages(page => store.listDispatches(id, page))
    expect(dispatches.map(({ conversationId }) => conversationId === first?.conversation_id)).toEqual([
      true,
      true,
      true,
      false,
    ])
  })

  it('can count the expiry from the creation of the conversation (S2-31, S2-46)', async () => {
    const dispatcher = await dispatcherOf({ expiry: { afterMs: 2 * hour, from: 'creation' } })
    const { id } = await store.submitTask({ description: 'Find it' })
    const first = await dispatcher.run(id)
    clock.now += 1.5 * hour
    expect((await dispatcher.run(id, 'More'))?.conversation_id).toBe(first?.conversation_id)
    clock.now += hour
    expect((await dispatcher.run(id, 'More'))?.conversation_id).not.toBe(first?.conversation_id)
  })

  it('stores no conversation for a project that has none: a single request (S2-30, S2-55, S2-56)', async () => {
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest) => {
      requests.push(request)
      return 'Done.'
    }
    const dispatcher = await dispatcherOf({
      agentFor: () => ({ model: scripted({ script }) }),
      storesConversations: project => project !== 'plain',
    })
    const { id } = await store.submitTask({ project: 'plain', description: 'One' })
    const first = await dispatcher.run(id)
    await dispatcher.run(id, 'Two')
    expect(first).toMatchObject({ conversation_id: null, response: 'Done.', success: true })
    expect(requests.map(textsOf)).toEqual([['One'], ['Two']])
    expect(await store.countConversations()).toBe(0)
    expect(await store.getTask(id)).toMatchObject({ status: 'done', conversationId: null })
  })

  it('keeps the conversations of tasks and projects apart (S2-62)', async () => {
    const dispatcher = await dispatcherOf()
    await store.submitTask({ id: 'a', project: 'one', description: 'My name is Ada.' })
    await store.submitTask({ id: 'b', project: 'two', description: 'What is my name?' })
    await dispatcher.run('a')
    expect((await dispatcher.run('b'))?.response).not.toContain('Ada')
  })

  it('reports a conversation that cannot be created (S2-23)', async () => {
    const broken = new Proxy(store, {
      get: (target, name) =>
        name === 'findOrCreateByTask'
          ? async () => Promise.reject(new Error('no space'))
          : Reflect.get(target, name),
    })
    const dispatcher = await dispatcherOf({ store: broken })
    const { id } = await store.submitTask({ description: 'Find it' })
    const error = 'failed to create conversation session: no space'
    expect(await dispatcher.run(id)).toMatchObject({ success: false, error })
    expect(await store.getDispatch(id, 1)).toMatchObject({ status: 'failed', error })
  })

  it('returns the result if the answer cannot be saved, and says so (S2-28)', async () => {
    const { UnavailableError } = await import('../../src/index.ts')
    let isBroken = false
    const broken = new Proxy(store, {
      get: (target, name) => {
        if (name !== 'append' && name !== 'endTurn') return Reflect.get(target, name)
        const method = target[name] as (...args: unknown[]) => unknown
        return async (...args: unknown[]) => {
          if (isBroken) throw new UnavailableError('away')
          return method.apply(target, args)
        }
      },
    })
    const script = () => {
      isBroken = true
      return 'The answer.'
    }
    const events: DispatchEvent[] = []
    const dispatcher = await dispatcherOf({
      store: broken,
      agentFor: () => ({ model: scripted({ script }) }),
      saveWithinMs: 50,
      onEvent: event => events.push(event),
    })
    const { id } = await store.submitTask({ description: 'Find it' })
    const result = await dispatcher.run(id)
    expect(result).toMatchObject({ response: 'The answer.', success: true, saved: false })
    expect((await store.getTask(id)).status).toBe('done')
    expect(events.some(one => one.type === 'agent' && one.event.type === 'trouble')).toBe(true)
  })

  it('runs a repeated delivery once, and returns the same result', async () => {
    let calls = 0
    const script = () => `Answer ${++calls}.`
    const dispatcher = await dispatcherOf({ agentFor: () => ({ model: scripted({ script }) }) })
    const { id } = await store.submitTask({ description: 'Find it' })
    const first = await dispatcher.run(id, undefined, { n: 1 })
    expect(await dispatcher.run(id, undefined, { n: 1 })).toEqual(first)
    const both = await Promise.all([1, 2].map(() => dispatcher.run(id, 'More', { n: 2 })))
    expect(both[0]).toEqual(both[1])
    expect(calls).toBe(2)
    expect(await saidIn(id)).toHaveLength(4)
    await expect(dispatcher.run(id, 'Other', { n: 2 })).rejects.toMatchObject({ code: 'key_reused' })
  })

  it('records why a dispatch failed, and retries it in the same turn', async () => {
    let calls = 0
    const script = () => {
      if (++calls === 1) throw new Error('the model is on fire')
      return 'Cool again.'
    }
    const dispatcher = await dispatcherOf({ agentFor: () => ({ model: scripted({ script }) }) })
    const { id } = await store.submitTask({ description: 'Find it' })
    expect(await dispatcher.run(id)).toMatchObject({ success: false, error: 'the model is on fire' })
    expect((await store.getTask(id)).status).toBe('failed')
    await store.retryTask(id)
    expect(await dispatcher.run(id)).toMatchObject({ success: true, response: 'Cool again.', dispatch: 1 })
    expect(await saidIn(id)).toEqual(['user: Find it', 'assistant: Cool again.'])
  })

  it('counts the tokens of all attempts of a dispatch (S2-27)', async () => {
    let calls = 0
    const script = () => {
      calls++
      if (calls === 1) return { calls: [{ name: 'look', input: {} }] }
      if (calls === 2) throw new Error('the model is on fire')
      return 'Found it.'
    }
    const look = tool({ description: '', input: z.object({}), readOnly: true, run: () => 'nothing' })
    const dispatcher = await dispatcherOf({
      agentFor: () => ({ model: scripted({ script }), tools: { look } }),
    })
    const { id } = await store.submitTask({ description: 'Find it' })
    const failed = (await dispatcher.run(id))!
    await store.retryTask(id)
    const done = (await dispatcher.run(id))!
    const { conversation } = (await store.findByTask(id))!
    expect([failed.success, done.success, failed.tokens_used > 0]).toEqual([false, true, true])
    expect(done.tokens_used).toBe(conversation.tokensUsed)
    expect(done.tokens_used).toBeGreaterThan(failed.tokens_used)
  })

  it('retries a failed dispatch in a new turn if a person has continued the conversation', async () => {
    let calls = 0
    const script = () => {
      if (++calls === 1) throw new Error('no')
      return `Answer ${calls}.`
    }
    const model = scripted({ script })
    const dispatcher = await dispatcherOf({ agentFor: () => ({ model }) })
    const { id } = await store.submitTask({ description: 'Find it' })
    await dispatcher.run(id)
    const { createAgent } = await import('../../src/agent/index.ts')
    const { branch } = (await store.findByTask(id))!
    await createAgent({ store, model }).ask(branch, 'What is wrong?')
    await store.retryTask(id)
    expect(await dispatcher.run(id)).toMatchObject({ success: true, response: 'Answer 3.' })
    expect((await saidIn(id)).slice(-2)).toEqual(['user: Find it', 'assistant: Answer 3.'])
  })

  it('ends a dispatch that reaches its steps, its time limit or does not stop, and says why', async () => {
    const endless = tool({ description: '', input: z.object({}), run: () => 'again' })
    const hang = tool({ description: '', input: z.object({}), run: () => new Promise(() => {}) })
    const script = (name: string) => () => ({ calls: [{ name, input: {} }] })
    const steps = await dispatcherOf({
      agentFor: () => ({ model: scripted({ script: script('go') }), tools: { go: endless }, maxSteps: 3 }),
    })
    await store.submitTask({ id: 'steps', description: 'Go' })
    const error = 'the agent reached its limit of 3 steps'
    expect(await steps.run('steps')).toMatchObject({ success: false, error })
    const stuck = await dispatcherOf({
      agentFor: () => ({ model: scripted({ script: script('go') }), tools: { go: hang } }),
      timeoutMs: 50,
      abortWithinMs: 50,
      saveWithinMs: 50,
    })
    await store.submitTask({ id: 'stuck', description: 'Go' })
    expect(await stuck.run('stuck')).toMatchObject({
      success: false,
      error: 'the dispatch took longer than its time limit',
    })
    expect((await store.getDispatch('stuck', 1)).status).toBe('failed')
  })

  it('refuses a busy task if asked to, and unknown tasks', async () => {
    const dispatcher = await dispatcherOf()
    await expect(dispatcher.run('none')).rejects.toMatchObject({ code: 'not_found', kind: 'task' })
    const { id } = await store.submitTask({ description: 'Find it' })
    await expect(dispatcher.run(id, ' ')).rejects.toMatchObject({ code: 'invalid' })
    await expect(dispatcher.run(id, 'More', { onBusy: 'refuse' })).rejects.toMatchObject({ code: 'busy' })
  })

  it('traces each dispatch in its conversation (S2-57)', async () => {
    const dispatcher = await dispatcherOf()
    const { id } = await store.submitTask({ description: 'Find it' })
    await dispatcher.run(id, undefined, { worker: 'w1' })
    const { conversation } = (await store.findByTask(id))!
    const events = await collectPages(page =>
      store.listEvents(conversation.id, { types: ['dispatch_started', 'dispatch_ended'], ...page }),
    )
    const figures = {
      ran_ms: expect.any(Number),
      first_word_ms: expect.any(Number),
      tokens: expect.any(Number),
    }
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['dispatch_started', { task: id, n: 1, attempt: 1, worker: 'w1', queued_ms: 0 }],
      ['dispatch_ended', { task: id, n: 1, status: 'done', attempt: 1, ...figures }],
    ])
  })

  it('lets an agent file a task that is linked to its own', async () => {
    const calls = [{ name: 'submit_task', input: { description: 'Fix the docs', context: 'page 3' } }]
    const dispatcher = await dispatcherOf({
      agentFor: task => ({
        model: scripted({ script: [{ calls }, 'Filed.'] }),
        // A worker denies what needs a person.
        approve: () => 'deny',
        tools: { submit_task: submitTaskTool({ tasks: store, parent: task }) },
      }),
    })
    const { id } = await store.submitTask({ project: 'web', description: 'Look around' })
    await dispatcher.run(id)
    const [filed] = (await store.listTasks({ status: 'queued' })).items
    expect(filed).toMatchObject({
      parent: id,
      project: 'web',
      description: 'Fix the docs',
      context: 'page 3',
    })
  })
})
