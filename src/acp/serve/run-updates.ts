import type { SessionUpdate, ToolCall } from '@agentclientprotocol/sdk/unstable'
import type { AgentEvent } from '../../agent/run/events.ts'
import { loneResultUpdate } from '../transcript/call-update.ts'
import { toolKind, toolTitle } from './tool-details.ts'

export interface RunUpdateOptions {
  /** Names the message that a step brings, so that a client knows which pieces belong together. */
  newId(): string
  /** True if a tool runs without being asked for. */
  isAllowed(name: string): boolean
  /** The window, in tokens. */
  readonly window: number
}

type UsageUpdate = Extract<SessionUpdate, { sessionUpdate: 'usage_update' }>

/** A turn as a client sees it: what happens becomes updates, in the same order. */
export interface RunUpdates {
  of(event: AgentEvent): readonly SessionUpdate[]
  /** The last one about the window; null before the first answer. */
  readonly usage: UsageUpdate | null
  /** For calls whose end nobody has seen when the turn is over: stopped, or interrupted. */
  left(): readonly SessionUpdate[]
}

export function createRunUpdates({ newId, isAllowed, window }: RunUpdateOptions): RunUpdates {
  const open = new Set<string>()
  let messageId = newId()
  let context = 0
  let usage: UsageUpdate | null = null

  function of(event: AgentEvent): readonly SessionUpdate[] {
    switch (event.type) {
      case 'context':
        messageId = newId()
        context = event.tokens.total
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
        const { input = context, output = 0 } = event.usage
        usage = { sessionUpdate: 'usage_update', used: input + output, size: window }
        return [usage]
      }
      default:
        return []
    }
  }

  function endOf(event: Extract<AgentEvent, { type: 'tool_ended' }>): readonly SessionUpdate[] {
    const { callId: toolCallId, name } = event
    const whole = loneResultUpdate({ ...event, type: 'tool_result' }) as unknown as ToolCall
    // One that was refused before it was run, the client has not heard of.
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
