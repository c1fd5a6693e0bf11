import type { PlanEntry, SessionUpdate, ToolCall } from '@agentclientprotocol/sdk/unstable'
import { callKind, callTitle } from '../../agent/approval/call-details.ts'
import type { AgentEvent } from '../../agent/run/events.ts'
import { loneResultUpdate } from '../transcript/call-update.ts'
import { callOf } from './permission-requests.ts'

export interface RunUpdateOptions {
  /** Creates the id of a step's message, so that a client knows which chunks belong together. */
  newId(): string
  /** Whether a call is shown in a terminal of the client, which has its output already. */
  hasTerminal(callId: string): boolean
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

export function createRunUpdates({ newId, hasTerminal }: RunUpdateOptions): RunUpdates {
  const open = new Set<string>()
  /** Calls that are shown as a diff. It stays unless they fail. */
  const isDiff = new Set<string>()
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
      case 'asking':
        if (event.request === null) return []
        open.add(event.request.callId)
        if (event.request.preview?.type === 'diff') isDiff.add(event.request.callId)
        return [{ sessionUpdate: 'tool_call', ...callOf(event.request), status: 'pending' }]
      case 'tool_started':
        if (open.has(event.callId))
          return [{ sessionUpdate: 'tool_call_update', toolCallId: event.callId, status: 'in_progress' }]
        open.add(event.callId)
        return [{ ...startOf(event), status: 'in_progress' }]
      case 'plan':
        return [{ sessionUpdate: 'plan', entries: event.entries as unknown as PlanEntry[] }]
      case 'subagent':
        return ofSubagent(event.event)
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

  /** Of a subagent, only calls that a person is asked about are shown. */
  function ofSubagent(event: AgentEvent): readonly SessionUpdate[] {
    if (event.type === 'subagent') return ofSubagent(event.event)
    const isKnown = (event.type === 'tool_started' || event.type === 'tool_ended') && open.has(event.callId)
    return event.type === 'asking' || isKnown ? of(event) : []
  }

  function endOf(event: Extract<AgentEvent, { type: 'tool_ended' }>): readonly SessionUpdate[] {
    const { callId: toolCallId, name } = event
    const whole = loneResultUpdate({ ...event, type: 'tool_result' }) as unknown as ToolCall
    // The client does not know a call that was refused before it ran.
    if (!open.delete(toolCallId)) return [{ ...whole, sessionUpdate: 'tool_call', kind: callKind(name) }]
    const { status = 'completed', content = [], rawOutput } = whole
    const isShown = hasTerminal(toolCallId) || (isDiff.has(toolCallId) && status !== 'failed')
    const shown = isShown ? {} : { content }
    return [{ sessionUpdate: 'tool_call_update', toolCallId, status, ...shown, rawOutput }]
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
  const title = callTitle(name, input)
  return {
    sessionUpdate: 'tool_call',
    toolCallId: callId,
    title,
    name,
    kind: callKind(name),
    rawInput: input,
  } as const
}
