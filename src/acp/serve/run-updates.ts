import type { SessionUpdate, ToolCall } from '@agentclientprotocol/sdk/unstable'
import type { AgentEvent } from '../../agent/run/events.ts'
import { loneResultUpdate } from '../transcript/call-update.ts'
import { toolKind, toolTitle } from './tool-details.ts'

export interface RunUpdateOptions {
  /** Creates the id of a step's message, so that a client knows which chunks belong together. */
  newId(): string
  /** True if the tool runs without a permission request. */
  isAllowed(name: string): boolean
}

type UsageUpdate = Extract<SessionUpdate, { sessionUpdate: 'usage_update' }>

/** Converts the events of a run to updates for the client, in the same order. */
export interface RunUpdates {
  of(event: AgentEvent): readonly SessionUpdate[]
  /** The last usage update; null before the first answer. */
  readonly usage: UsageUpdate | null
  /** Updates for calls without an end, when the turn is over. */
  left(): readonly SessionUpdate[]
}

export function createRunUpdates({ newId, isAllowed }: RunUpdateOptions): RunUpdates {
  const open = new Set<string>()
  let messageId = newId()
  let context = { total: 0, budget: 0 }
  let usage: UsageUpdate | null = null

  function of(event: AgentEvent): readonly SessionUpdate[] {
    switch (event.type) {
      case 'context':
        messageId = newId()
        context = event.tokens
        return []
      case 'text':
        return [
          { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: event.text }, messageId },
        ]
      case 'thinking':
        return [
          { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: event.text }, messageId },
        ]
      case 'tool_started':
        open.add(event.callId)
        return [{ ...startOf(event), status: isAllowed(event.name) ? 'in_progress' : 'pending' }]
      case 'tool_ended':
        return endOf(event)
      case 'answered': {
        const { input = context.total, output = 0 } = event.usage
        // The part of the window that may be used: clients show how full it is.
        usage = { sessionUpdate: 'usage_update', used: input + output, size: context.budget }
        return [usage]
      }
      default:
        return []
    }
  }

  function endOf(event: Extract<AgentEvent, { type: 'tool_ended' }>): readonly SessionUpdate[] {
    const { callId: toolCallId, name } = event
    const whole = loneResultUpdate({ ...event, type: 'tool_result' }) as unknown as ToolCall
    // The client does not know a call that was refused before it ran.
    if (!open.delete(toolCallId)) return [{ ...whole, sessionUpdate: 'tool_call', kind: toolKind(name) }]
    const { status = 'completed', content = [], rawOutput } = whole
    return [{ sessionUpdate: 'tool_call_update', toolCallId, status, content, rawOutput }]
  }

  return {
    of,
    get usage() {
      return usage
    },
    left() {
      const left = [...open]
      open.clear()
      return left.map(toolCallId => ({ sessionUpdate: 'tool_call_update', toolCallId, status: 'failed' }))
    },
  }
}

function startOf({ callId, name, input }: Extract<AgentEvent, { type: 'tool_started' }>) {
  const title = toolTitle(name, input)
  return {
    sessionUpdate: 'tool_call',
    toolCallId: callId,
    title,
    name,
    kind: toolKind(name),
    rawInput: input,
  } as const
}
