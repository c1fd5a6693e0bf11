import type { Measured } from '../../core/measure.ts'
import { all, first, type Program } from '../engine/engine.ts'

/** Counts, sizes and usage, summed by the engine. */
export function* measure(since: number): Program<Measured> {
  const counts = (yield* first('counted', { since }))!
  const blobs = (yield* first('blobSum', {}))!
  return {
    conversations: counts.conversations,
    messages: counts.messages,
    recent: { conversations: counts.recent_conversations, messages: counts.recent_messages },
    trashed: counts.trashed,
    blobs,
    usage: yield* all('usageSums', { since }),
    sizes: yield* all('sizes', {}),
  }
}
