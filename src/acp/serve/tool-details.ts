import type { SessionUpdate } from '@agentclientprotocol/sdk/unstable'
import { callKind, callTitle } from '../../agent/approval/call-details.ts'
import type { JsonObject } from '../../core/json.ts'

/** A replayed update. A call of our own gets its title and kind again; a call of another agent keeps its
 *  own. */
export function withToolDetails(update: JsonObject): SessionUpdate {
  const { sessionUpdate, name, title, rawInput = null, kind } = update
  const isBare =
    sessionUpdate === 'tool_call' && typeof name === 'string' && title === name && kind === 'other'
  const dress = isBare ? { title: callTitle(name, rawInput), kind: callKind(name) } : {}
  return { ...update, ...dress } as unknown as SessionUpdate
}
