import type { TraceEvent } from '../core/event.ts'
import type { eventSchema, JsonOf } from './schema/index.ts'

/** A trace record as JSON. */
export type EventJson = JsonOf<typeof eventSchema>

/** Maps a trace record to JSON. */
export function eventJson({ n, type, createdAt, data }: TraceEvent): EventJson {
  return { n, type, created_at: createdAt.toISOString(), data }
}
