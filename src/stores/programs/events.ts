import type { EventListing, EventType, NewEvent, TraceEvent } from '../../core/event.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NonEmpty } from '../../core/message.ts'
import { all, type Program, run } from '../engine/engine.ts'
import { lockLiving, needConversation } from './lookup.ts'

export function* addEvents(id: ConversationId, events: NonEmpty<NewEvent>, now: number): Program<void> {
  const { conv, next_event } = yield* lockLiving(id)
  let n = next_event
  for (const event of events) {
    const at = event.at?.getTime() ?? now
    yield* run('insertEvent', { conv, n: n++, type: event.type, at, data: JSON.stringify(event.data ?? {}) })
  }
  yield* run('setNextEvent', { conv, next_event: n })
}

export function* listEvents(id: ConversationId, options: EventListing): Program<readonly TraceEvent[]> {
  const { conv } = yield* needConversation(id)
  const params = {
    conv,
    after: options.after ?? -1,
    types: options.types ?? null,
    limit: options.limit ?? 1_000,
  }
  const rows = options.newest
    ? (yield* all('newestEvents', params)).toReversed()
    : yield* all('events', params)
  return rows.map(row => ({
    conversationId: id,
    n: row.n,
    type: row.type as EventType,
    at: new Date(row.at),
    data: JSON.parse(row.data) as JsonObject,
  }))
}
