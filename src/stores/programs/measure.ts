import type { Measured, UsageSum } from '../../core/measure.ts'
import { all, first, type Program } from '../engine/engine.ts'
import type { Conv } from '../engine/rows.ts'

/** Counts and sizes, summed by the engine. */
export function* measureCounts(since: number): Program<Omit<Measured, 'usage'>> {
  const counts = (yield* first('counted', { since }))!
  const blobs = (yield* first('blobSum', {}))!
  return {
    conversations: counts.conversations,
    messages: counts.messages,
    recent: { conversations: counts.recent_conversations, messages: counts.recent_messages },
    trashed: counts.trashed,
    blobs,
    sizes: yield* all('sizes', {}),
  }
}

/** A turn up to which usage has been summed. Null is the beginning. */
export type UsagePosition = { readonly conv: Conv; readonly key: string } | null

/** The usage of some turns, and where they end. */
export interface UsagePiece {
  readonly sums: readonly UsageSum[]
  readonly end: UsagePosition
}

/** The bytes of some blocks of the search index, and the last of them. */
export interface IndexPiece {
  readonly bytes: number
  readonly last: number | null
}

/** The bytes of the messages of a conversation from `lo` to `hi`. */
export function* measureContent(conv: Conv, lo: number, hi: number): Program<number> {
  return (yield* first('contentBytes', { conv, lo, hi }))!.bytes
}

/** The usage of the next turns, or of all that follow, and where they end: null if these were the last. */
export function* measureUsage(
  since: number,
  after: UsagePosition,
  turns: number | null,
): Program<UsagePiece> {
  const from = { conv: after?.conv ?? null, key: after?.key ?? null }
  const end = turns === null ? null : ((yield* first('turnAfter', { ...from, skip: turns - 1 })) ?? null)
  const upTo = { last_conv: end?.conv ?? null, last_key: end?.key ?? null }
  return { sums: yield* all('usageSums', { since, ...from, ...upTo }), end }
}

/** The bytes of the next blocks of the search index. Null if the engine's sizes include them. */
export function* measureIndex(after: number | null, limit: number): Program<IndexPiece | null> {
  return (yield* first('indexBytes', { after, limit })) ?? null
}
