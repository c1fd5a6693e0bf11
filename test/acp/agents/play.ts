import { randomUUID } from 'node:crypto'
import type { AgentContext, SessionUpdate, StopReason } from '@agentclientprotocol/sdk/unstable'
import type { Entry } from './memory.ts'
import { runCommand } from './run-command.ts'
import type { EditStep, Step, ToolStep } from './step.ts'

export interface Playing {
  readonly client: Pick<AgentContext, 'notify' | 'request'>
  readonly sessionId: string
  readonly signal: AbortSignal
  /** Whether the chunks of a message have its id. */
  readonly namesMessages: boolean
}

export interface Played {
  /** The entries of a load: chunks joined, calls at their end. */
  readonly entry: Entry
  readonly stopReason: StopReason
}

/** Performs the steps of the model, and sends them to the client. A cancelled turn keeps the text that was
 *  sent. */
export async function play(steps: AsyncIterable<Step>, playing: Playing): Promise<Played> {
  const { client, sessionId, signal } = playing
  const named = playing.namesMessages ? { messageId: randomUUID() } : {}
  const send = (update: SessionUpdate) => client.notify('session/update', { sessionId, update })
  const shown: SessionUpdate[] = []
  let stopReason: StopReason = 'end_turn'
  let text = ''

  async function say(kind: 'agent_message_chunk' | 'agent_thought_chunk', piece: string): Promise<void> {
    const chunk = (said: string) =>
      ({ sessionUpdate: kind, content: { type: 'text', text: said }, ...named }) as const
    const last = shown.at(-1)
    const before = last?.sessionUpdate === kind && last.content.type === 'text' ? last.content.text : null
    if (before !== null) shown.pop()
    shown.push(chunk(`${before ?? ''}${piece}`))
    await send(chunk(piece))
  }

  async function take(step: Step): Promise<void> {
    switch (step.type) {
      case 'text':
        text += step.text
        return say('agent_message_chunk', step.text)
      case 'thought':
        return say('agent_thought_chunk', step.text)
      case 'tool':
        shown.push(await callTool(step, playing, send))
        return
      case 'command':
        shown.push(...(await runCommand(step, playing, send)))
        return
      case 'edit':
        shown.push(await editFile(step, send))
        return
      case 'plan':
        return send({ sessionUpdate: 'plan', entries: step.steps.map(planned) })
      case 'usage':
        return send({
          sessionUpdate: 'usage_update',
          used: step.used,
          size: step.size,
          ...(step.cost === undefined ? {} : { cost: { amount: step.cost, currency: 'USD' } }),
        })
      case 'title':
        return send({ sessionUpdate: 'session_info_update', title: step.title })
      case 'stop':
        stopReason = step.reason
        return
      case 'die':
        process.exit(1)
    }
  }

  try {
    for await (const step of steps) await take(step)
  } catch (error) {
    if (!signal.aborted) throw error
    stopReason = 'cancelled'
  }
  return { entry: { role: 'assistant', text, updates: shown }, stopReason }
}

function planned(content: string) {
  return { content, priority: 'medium', status: 'pending' } as const
}

/** A change of a file. Returns its final state. */
async function editFile(
  { path, before, after }: EditStep,
  send: (update: SessionUpdate) => Promise<void>,
): Promise<SessionUpdate> {
  const call = {
    toolCallId: `call-${randomUUID()}`,
    name: 'Edit',
    title: `Edit ${path}`,
    kind: 'edit',
    rawInput: { file_path: path },
  } as const
  const diff = { type: 'diff', path, oldText: before === '' ? null : before, newText: after } as const
  const locations = [{ path }]
  await send({ sessionUpdate: 'tool_call', ...call, locations, status: 'in_progress' })
  const end = { status: 'completed' as const, content: [diff] }
  await send({ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, ...end })
  return { sessionUpdate: 'tool_call', ...call, locations, ...end }
}

/** A call from its beginning to its end. Returns its final state. */
async function callTool(
  step: ToolStep,
  { client, sessionId, signal }: Playing,
  send: (update: SessionUpdate) => Promise<void>,
): Promise<SessionUpdate> {
  const call = {
    toolCallId: step.callId ?? `call-${randomUUID()}`,
    name: step.name,
    title: step.title,
    kind: 'read',
    rawInput: step.input,
  } as const
  await send({ sessionUpdate: 'tool_call', ...call, status: 'pending' })
  const isAllowed = step.asks !== true || (await asks())
  const end = isAllowed
    ? ({
        status: 'completed',
        rawOutput: { text: step.output },
        content: [{ type: 'content', content: { type: 'text', text: step.output } }],
      } as const)
    : ({ status: 'failed' } as const)
  if (isAllowed) {
    await send({ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, status: 'in_progress' })
  }
  await send({ sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, ...end } as SessionUpdate)
  return { sessionUpdate: 'tool_call', ...call, ...end } as SessionUpdate

  async function asks(): Promise<boolean> {
    const { outcome } = await client.request(
      'session/request_permission',
      {
        sessionId,
        toolCall: { toolCallId: call.toolCallId, title: step.title },
        options: [
          { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
          { optionId: 'no', name: 'Reject', kind: 'reject_once' },
        ],
      },
      { cancellationSignal: signal },
    )
    return outcome.outcome === 'selected' && outcome.optionId === 'yes'
  }
}
