import type { Summary } from '../core/summary.ts'
import type { JsonOf, summarySchema } from './schema/index.ts'

/** A summary as JSON. */
export type SummaryJson = JsonOf<typeof summarySchema>

/** Maps a summary to JSON. */
export function summaryJson({ first, last, text, model, tokens, checksum, createdAt }: Summary): SummaryJson {
  return { id: checksum, from: first, to: last, text, model, tokens, created_at: createdAt.toISOString() }
}
