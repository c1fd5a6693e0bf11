import type { Stretch } from '../core/runs.ts'
import type { JsonOf, stretchSchema } from './schema/index.ts'

/** A stretch as JSON. */
export type StretchJson = JsonOf<typeof stretchSchema>

/** Maps a stretch to JSON. */
export function stretchJson(stretch: Stretch): StretchJson {
  return {
    first: stretch.first,
    last: stretch.last,
    first_seq: stretch.firstSeq,
    last_seq: stretch.lastSeq,
    parent: stretch.parent,
    parent_seq: stretch.parentSeq,
    messages: stretch.messages,
    tokens: stretch.tokens,
    started_at: stretch.startedAt.toISOString(),
    ended_at: stretch.endedAt.toISOString(),
  }
}
