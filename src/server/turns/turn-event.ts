import type { AgentEvent } from '../../agent/run/events.ts'
import type { TurnEventJson } from '../../api/turn-event.ts'
import { usageJson } from '../../api/usage.ts'
import type { BranchRef } from '../../core/branch.ts'

/** Maps an event of a run to JSON. Null for events that are not for clients. */
export function turnEventJson(event: AgentEvent): TurnEventJson | null {
  switch (event.type) {
    case 'started': {
      const { turn, branch, forked } = event
      return { type: 'started', turn, ...placeOf(branch), forked }
    }
    case 'resumed':
      return { type: 'resumed', at: event.at }
    case 'text':
    case 'thinking':
      return { type: event.type, text: event.text }
    case 'tool_started': {
      const { callId, name, input } = event
      return { type: 'tool_started', call_id: callId, name, input }
    }
    case 'tool_ended': {
      const { callId, name, output, isError } = event
      return { type: 'tool_ended', call_id: callId, name, output, is_error: isError }
    }
    case 'answered': {
      const { step, message, finish, usage } = event
      return { type: 'answered', step, message, finish, usage: usageJson(usage) }
    }
    case 'retrying':
      return { type: 'retrying', left: event.left }
    case 'trouble':
      return { type: 'trouble' }
    case 'subagent': {
      const inner = turnEventJson(event.event)
      const { name, conversationId: conversation } = event
      return inner && { type: 'subagent', name, conversation, event: inner }
    }
    case 'ended': {
      const { turn, branch, text, status, stop, head, usage, saved } = event.reply
      const place = { turn, ...placeOf(branch) }
      return { type: 'ended', ...place, status, stop, text, head, usage: usageJson(usage), saved }
    }
    default:
      return null
  }
}

function placeOf(branch: BranchRef | null) {
  return { conversation: branch?.conversationId ?? null, branch: branch?.name ?? null }
}
