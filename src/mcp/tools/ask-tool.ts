import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { AgentEvent } from '../../agent/run/events.ts'
import { runSubagent } from '../../agent/run-subagent.ts'
import type { ParentLink } from '../../core/conversation.ts'
import { NotFoundError, UnavailableError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { McpAgent, McpEndpointStore, McpScope } from './endpoint-options.ts'
import {
  describeFailure,
  type EndpointTool,
  endpointTool,
  type ToolCall,
  type ToolSetting,
} from './endpoint-tool.ts'
import { openScope } from './open-scope.ts'

const input = z.strictObject({
  task: z
    .string()
    .refine(task => task.trim() !== '', 'must not be empty')
    .describe('What is to be done, with everything that has to be known for it'),
  from: z
    .string()
    .min(1)
    .optional()
    .describe('The stored conversation or message that the task comes from. The run is linked to it'),
})

const output = z.object({
  conversation: z.string().describe('Where the run is stored'),
  label: z.string(),
  status: z.enum(['complete', 'interrupted', 'failed']),
  answer: z.string(),
})

/** Most tasks that run at the same time. */
const mostTasks = 8

/** `ask`: gives the agent a task, in a conversation of its own. */
export function askTool({ store, scope }: ToolSetting, agent: McpAgent): EndpointTool {
  let running = 0

  async function run(task: string, from: string | undefined, call: ToolCall) {
    const opened = await store('write')
    const parent = from === undefined ? null : await parentOf(opened, scope, from)
    const answering = await agent.open()
    const runId = randomUUID()
    using progress = createProgress(agent.name, call)
    let conversation: ConversationId | null = null
    const ended = await runSubagent(answering, {
      name: agent.name,
      runId,
      task,
      store: opened,
      parent,
      links: agent.links ?? {},
      signal: call.signal,
      onConversation: id => {
        conversation = id
        progress.begun(id)
      },
      onEvent: event => progress.event(event),
    })
    const { reply, failure } = ended
    const status = reply?.status ?? ('failed' as const)
    const answer = reply === null ? describeFailure(failure?.error) : reply.text
    const where = `Stored as conversation ${conversation}.`
    const failed = `${agent.name} failed: ${answer}`
    return {
      text: `${reply === null ? failed : answer}\n\n${where}`,
      data: { conversation: String(conversation), label: `subagent:${agent.name}:${runId}`, status, answer },
      isError: reply === null,
    }
  }

  return endpointTool({
    name: 'ask',
    title: `Ask ${agent.name}`,
    description: [
      `Gives a task to the agent ${agent.name} and waits for its answer.`,
      ...(agent.description === undefined ? [] : [agent.description]),
      'It does not see this conversation. The run is stored; read_conversation reads it.',
    ].join(' '),
    input,
    output,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    needs: 'ask',
    async run({ task, from }, call) {
      if (running >= mostTasks)
        throw new UnavailableError(`${running} tasks are running`, { hint: 'Ask again when one has ended' })
      running++
      try {
        return await run(task, from, call)
      } finally {
        running--
      }
    },
  })
}

async function parentOf(store: McpEndpointStore, scope: McpScope, from: string): Promise<ParentLink> {
  const { admits } = await openScope(store, scope)
  const { conversation, message } = await store.resolve(from)
  if (!(await admits(conversation))) throw new NotFoundError('id', from)
  return { conversationId: conversation.id, messageId: message }
}

/** How often a client hears of a task at most, and at least: clients give up a silent call. */
const oftenMs = 250
const seldomMs = 10_000

interface TaskProgress extends Disposable {
  begun(id: ConversationId): void
  event(event: AgentEvent): void
}

function createProgress(name: string, { progress }: ToolCall): TaskProgress {
  let characters = 0
  let last = 0
  const say = (message: string) => {
    last = performance.now()
    progress(message)
  }
  const timer = setInterval(() => {
    if (performance.now() - last >= seldomMs / 2) say(`${name} is working`)
  }, seldomMs)
  return {
    begun: id => say(`${name} has the task: conversation ${id}`),
    event(event) {
      if (event.type === 'tool_started') say(`${name} uses ${event.name}`)
      if (event.type !== 'text') return
      characters += event.text.length
      if (performance.now() - last >= oftenMs) say(`${name} has written ${characters} characters`)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
