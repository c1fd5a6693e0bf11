import type { EventType, ListEvents, NewEvent, TraceEvent } from '../../core/event.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Page } from '../../core/listing.ts'
import { all, type Program, run } from '../engine/engine.ts'
import { dataOfEvent, timeOfEvent } from '../engine/row-to-value.ts'
import type { EventRow } from '../engine/rows.ts'
import { aboveAll, defaultLimit, numberAfter, pageOf } from './cursor.ts'
import { convOf, lockLiving } from './lookup.ts'

export function* addEvents(id: ConversationId, events: readonly NewEvent[], now: number): Program<void> {
  const { conv, next_event } = yield* lockLiving(id)
  let n = next_event
  for (const event of events) {
    const at = event.createdAt?.getTime() ?? now
    yield* run('insertEvent', { conv, n: n++, type: event.type, at, data: JSON.stringify(event.data ?? {}) })
  }
  yield* run('setNextEvent', { conv, next_event: n })
}

export function* listEvents(id: ConversationId, options: ListEvents): Program<Page<TraceEvent>> {
  const conv = yield* convOf(id)
  const { limit = defaultLimit, order = 'ascending', types = null } = options
  const params = { conv, types, limit: limit + 1 }
  const rows =
    order === 'ascending'
      ? yield* all('events', { ...params, after: numberAfter(options, -1) })
      : yield* all('eventsDown', { ...params, below: numberAfter(options, aboveAll) })
  return pageOf(
    rows,
    options,
    row => eventFromRow(id, row),
    row => [row.n],
  )
}

export function eventFromRow(conversationId: ConversationId, row: EventRow): TraceEvent {
  return {
    conversationId,
    n: row.n,
    type: row.type as EventType,
    createdAt: timeOfEvent(row),
    data: dataOfEvent(row),
  }
}
