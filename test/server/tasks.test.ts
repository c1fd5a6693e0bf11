import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/index.ts'
import { createClient, ServiceError, type TaskEventJson } from '../../src/client/index.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import type { Task } from '../../src/core/task.ts'
import { createWorker, submitTaskTool, type WorkerOptions } from '../../src/dispatch/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { startService, type TestService } from './harness.ts'

/** Starts a worker on the store of a service, as another process would be. */
function startWorker({ store }: TestService, options: Partial<WorkerOptions> = {}) {
  const agentFor = () => ({ model: scripted({ script: () => 'Done.' }) })
  const worker = createWorker({ store, tasks: store, agentFor, pollMs: 10, reclaimMs: 50, ...options })
  return { worker, [Symbol.asyncDispose]: () => worker.stop() }
}

/** Follows tasks until one has ended. Returns its state. */
async function endOf(client: ReturnType<typeof createClient>, id: string): Promise<string> {
  for await (const { event } of client.follow({ tasks: true })) {
    const isEnded = event.type === 'task' && !['queued', 'running'].includes(event.task.status)
    if (isEnded && event.task.id === id) return event.task.status
  }
  return 'the stream ended'
}

/** The investigator of the origin document. It knows only the messages that it is given. */
const investigator = (task: Task, store: TestService['store'], seen: string[][]) => {
  const findings = [
    'I see several goroutines spawned but no cleanup.',
    'Continuing from where I left off. There is no context cancellation.',
    'Based on my previous investigation: ProcessOrder() spawns goroutines, and nothing ends them.',
  ]
  const script = ({ messages }: ModelRequest) => {
    const texts = messages.flatMap(({ role, content }) =>
      content.flatMap(block => (block.type === 'text' ? [`${role}: ${block.text}`] : [])),
    )
    seen.push(texts)
    const prompts = texts.filter(text => text.startsWith('user: ')).length
    const isAnswered = messages.at(-1)?.content.some(({ type }) => type === 'tool_result')
    if (prompts === 1 && !isAnswered)
      return { calls: [{ name: 'read_file', input: { path: 'internal/orders/processor.go' } }] }
    if (prompts === 3 && !isAnswered)
      return { calls: [{ name: 'submit_task', input: { description: 'Add context cancellation' } }] }
    return findings[prompts - 1]!
  }
  const read_file = tool({
    description: 'Reads a file',
    input: z.object({ path: z.string() }),
    readOnly: true,
    run: ({ path }) => `package orders // ${path}`,
  })
  const tools = { read_file, submit_task: submitTaskTool({ tasks: store, parent: task }) }
  return { id: 'investigator', model: scripted({ script }), system: 'You find memory leaks.', tools }
}

describe('tasks over HTTP', () => {
  it('run the scenario of the origin document: submit, dispatch, expire, dispatch again (S2-64, S2-65, S2-66)', {
    timeout: 60_000,
  }, async () => {
    await using service = await startService()
    const { store } = service
    const client = createClient({ url: service.url, token: service.token })
    const seen: string[][] = []
    await using _ = startWorker(service, {
      projects: ['orders'],
      workers: 2,
      agentFor: task => investigator(task, store, seen),
    })
    const task = await client.submitTask({
      project: 'orders',
      description: 'Investigate memory leak in order processing',
    })
    expect(task).toMatchObject({ status: 'queued', dispatch: 1, conversation_id: null })
    expect(await endOf(client, task.id)).toBe('done')
    for (const n of [2, 3]) {
      const ordered = await client.dispatchTask(task.id, { words: 'Continue investigation', n })
      expect(ordered.n).toBe(n)
      // A retry of the request is the same dispatch.
      expect((await client.dispatchTask(task.id, { words: 'Continue investigation', n })).n).toBe(n)
      await expect.poll(async () => (await client.getTask(task.id)).run).toMatchObject({ n, status: 'done' })
    }
    const shown = await client.getTask(task.id, { project: 'orders' })
    expect(shown.run.result).toMatchObject({
      task_id: task.id,
      agent_id: 'investigator',
      response: expect.stringContaining('Based on my previous investigation'),
      success: true,
    })
    // The model was given everything before, each time.
    const most = seen.toSorted((a, b) => b.length - a.length)[0]!
    expect(most.filter(text => text === 'user: Continue investigation')).toHaveLength(2)
    expect(most[1]).toBe('user: Investigate memory leak in order processing')
    // The agent has filed the fix.
    const filed = (await client.listTasks({ project: 'orders' })).items.find(one => one.parent === task.id)
    expect(filed?.description).toBe('Add context cancellation')

    const conversation = await client.getTaskConversation(task.id, { project: 'orders' })
    expect(conversation).toMatchObject({ bead_id: task.id, project_id: 'orders' })
    expect(conversation.messages.map(({ role, content }) => `${role}: ${content}`)).toEqual([
      'system: You find memory leaks.',
      'user: Investigate memory leak in order processing',
      'assistant: ',
      'tool: ',
      'assistant: I see several goroutines spawned but no cleanup.',
      'user: Continue investigation',
      'assistant: Continuing from where I left off. There is no context cancellation.',
      'user: Continue investigation',
      'assistant: ',
      'tool: ',
      expect.stringContaining('assistant: Based on my previous investigation'),
    ])
    expect(conversation.token_count).toBeGreaterThan(0)

    await client.updateConversation(shown.conversation_id!, { expires_at: '2026-01-01T00:00:00.000Z' })
    await client.dispatchTask(task.id, { words: 'Continue investigation' })
    await expect.poll(async () => (await client.getTask(task.id)).run.status).toBe('done')
    const again = await client.getTask(task.id)
    expect(again.conversation_id).not.toBe(shown.conversation_id)
    // The old conversation is still readable, and each dispatch names its own.
    expect((await client.getConversation(shown.conversation_id!)).messages).toHaveLength(11)
    const { items } = await client.listDispatches(task.id)
    expect(items.map(one => one.conversation_id === shown.conversation_id)).toEqual([true, true, true, false])
  })

  it('are reported by /follow with each state, also those that another process changes', async () => {
    await using service = await startService()
    const client = createClient({ url: service.url, token: service.token })
    const stop = new AbortController()
    const events: string[] = []
    const texts = (event: TaskEventJson) =>
      event.type === 'task' ? `${event.task.id} ${event.task.status}` : `${event.id} deleted`
    await client.submitTask({ id: 'a', description: 'd' })
    for await (const { event } of client.follow({ tasks: true, signal: stop.signal })) {
      if (event.type !== 'task' && event.type !== 'task_deleted') continue
      events.push(texts(event))
      if (events.at(-1) === 'a queued') await client.cancelTask('a')
      if (events.at(-1) === 'a cancelled') await client.deleteTask('a')
      if (events.at(-1) === 'a deleted') stop.abort()
    }
    expect([...new Set(events)]).toEqual(['a queued', 'a cancelled', 'a deleted'])
  })

  it('resume with the id of the last event, with what has changed since', async () => {
    await using service = await startService()
    const client = createClient({ url: service.url, token: service.token })
    let last = ''
    await client.submitTask({ id: 'a', description: 'd' })
    for await (const { id, event } of client.follow({ tasks: true })) {
      last = id
      if (event.type === 'task') break
    }
    await client.cancelTask('a')
    const states: string[] = []
    for await (const { event } of client.follow({ tasks: true, after: last })) {
      if (event.type === 'task') states.push(event.task.status)
      if (states.at(-1) === 'cancelled') break
    }
    expect(states.at(-1)).toBe('cancelled')
    expect((await service.call('/follow', { headers: { 'last-event-id': '@1.~!' } })).status).toBe(400)
  })

  it('are cancelled, retried and deleted; deleting moves conversations to the trash (S2-14)', async () => {
    await using service = await startService()
    const client = createClient({ url: service.url, token: service.token })
    const { id } = await client.submitTask({ project: 'web', description: 'd' })
    expect(await client.cancelTask(id)).toMatchObject({ status: 'cancelled' })
    expect(await client.retryTask(id)).toMatchObject({ status: 'queued' })
    await expect(client.dispatchTask(id, { on_busy: 'refuse' })).rejects.toMatchObject({
      status: 409,
      code: 'busy',
    })
    await startWorker(service, { untilIdle: true }).worker.ended
    const { conversation_id } = await client.getTask(id)
    for (const change of [client.cancelTask(id), client.retryTask(id)])
      await expect(change).rejects.toMatchObject({ status: 400, code: 'invalid' })
    expect(await client.getTask(id)).toMatchObject({ status: 'done', dispatches: 1 })
    expect(await client.deleteTask(id)).toEqual({
      success: true,
      message: expect.any(String),
      tasks: 1,
      trashed: [conversation_id],
    })
    await expect(client.getTask(id)).rejects.toMatchObject({ status: 404 })
    await client.submitTask({ project: 'web', description: 'd' })
    expect(await client.deleteProject('web')).toMatchObject({ tasks: 1, trashed: [] })
  })

  it('are submitted once if the request is repeated', async () => {
    await using service = await startService()
    const client = createClient({ url: service.url, token: service.token })
    const options = { idempotencyKey: 'once' }
    const first = await client.submitTask({ description: 'd' }, options)
    expect(await client.submitTask({ description: 'd' }, options)).toEqual(first)
    await expect(client.submitTask({ description: 'other' }, options)).rejects.toMatchObject({ status: 422 })
    expect((await client.listTasks()).items).toHaveLength(1)
  })

  it('are found only in their project, and a task of two projects is ambiguous (S2-62)', async () => {
    await using service = await startService()
    const client = createClient({ url: service.url, token: service.token })
    const { id } = await client.submitTask({ project: 'web', description: 'd' })
    await expect(client.getTask(id, { project: 'other' })).rejects.toMatchObject({ status: 404 })
    await expect(client.deleteTask(id, { project: 'other' })).rejects.toMatchObject({ status: 404 })
    const made = await service.store.create({ task: 'X-1', project: 'one' })
    expect((await client.getTaskConversation('X-1')).project_id).toBe('one')
    await service.store.create({ task: 'X-1', project: 'two' })
    await expect(client.getTaskConversation('X-1')).rejects.toMatchObject({ code: 'ambiguous_id' })
    expect((await client.getTaskConversation('X-1', { project: 'one' })).project_id).toBe('one')
    expect((await client.resolve('task:one/X-1')).conversation).toBe(made.conversation.id)
    await expect(client.resolve('task:X-1')).rejects.toMatchObject({ code: 'ambiguous_id' })
  })

  it.each([
    ['empty words', { description: ' ' }, 'description'],
    ['a description of 10 MB', { description: 'x'.repeat(10_000_000) }, 'description'],
    ['an id with NUL', { id: 'a\0b', description: 'd' }, 'id'],
    ['an id of 10 kB', { id: 'x'.repeat(10_000), description: 'd' }, 'id'],
    ['a project with NUL', { project: '\0', description: 'd' }, 'project'],
  ])('refuse %s with a typed error', async (_, body, field) => {
    await using service = await startService()
    const { status, body: problem } = await service.call('/tasks', { body })
    expect([status, problem.code, problem.field]).toEqual([400, 'invalid', field])
    expect((await service.call('/tasks')).body.items).toEqual([])
  })

  it('refuse words of 10 MB and unknown tasks, and store nothing', async () => {
    await using service = await startService()
    const client = createClient({ url: service.url, token: service.token })
    const { id } = await client.submitTask({ description: 'd' })
    const words = 'x'.repeat(10_000_000)
    await expect(client.dispatchTask(id, { words })).rejects.toMatchObject({ code: 'invalid' })
    await expect(client.dispatchTask(id, { words: ' ' })).rejects.toMatchObject({ code: 'invalid' })
    await expect(client.dispatchTask('none', {})).rejects.toBeInstanceOf(ServiceError)
    expect((await client.getTask(id)).dispatches).toBe(1)
  })

  it('are counted by state in the metrics (S2-57)', async () => {
    await using service = await startService()
    const client = createClient({ url: service.url, token: service.token })
    await client.submitTask({ id: 'a', description: 'd' })
    await client.submitTask({ id: 'b', description: 'd' })
    await client.cancelTask('b')
    const { text } = await service.call('//metrics')
    expect(text).toContain('skein_tasks{status="queued"} 1\n')
    expect(text).toContain('skein_tasks{status="cancelled"} 1\n')
    expect(text).toContain('skein_tasks{status="done"} 0\n')
  })
})
