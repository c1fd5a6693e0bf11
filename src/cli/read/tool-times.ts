import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { MessageReader } from '../../core/ports.ts'

/** How long a call of a tool took, as its start and its end were noted; null if they were not. */
export type ToolTimes = (message: MessageId, callId: string) => number | null

/** No more calls are looked up than a person would scroll through: what is older has no times. */
const mostEvents = 20_000

/** Reads how long the tools of a conversation took. Some recorders note which message made the call, others only the
 *  call's own id. */
export async function readToolTimes(
  store: Pick<MessageReader, 'listEvents'>,
  id: ConversationId,
): Promise<ToolTimes> {
  const events = await store.listEvents(id, {
    types: ['tool_started', 'tool_ended'],
    newest: true,
    limit: mostEvents,
  })
  const started = new Map<string, number>()
  const took = new Map<string, number>()
  for (const { type, at, data } of events) {
    const key = keyOf(typeof data.message === 'string' ? data.message : '', data.call ?? data.callId)
    const from = started.get(key)
    if (type === 'tool_started') started.set(key, at.getTime())
    else if (from !== undefined) took.set(key, at.getTime() - from)
  }
  return (message, callId) => took.get(keyOf(message, callId)) ?? took.get(keyOf('', callId)) ?? null
}

function keyOf(message: string, call: unknown): string {
  return `${message} ${String(call)}`
}
