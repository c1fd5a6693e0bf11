import { AmbiguousIdError, SkeinError } from '../../core/errors.ts'
import type { ConversationReader } from '../../core/ports.ts'
import { shortened, shortestId } from '../terminal/short-id.ts'

/** The shortest beginning of an id that the store takes for it alone: what is printed can be pasted. */
export async function shortIdIn(store: Pick<ConversationReader, 'resolve'>, id: string): Promise<string> {
  for (let length = shortestId; length < id.length; length++) {
    const short = shortened(id, length)
    try {
      await store.resolve(short)
      return short
    } catch (error) {
      if (error instanceof AmbiguousIdError) continue
      if (error instanceof SkeinError) return short
      throw error
    }
  }
  return id
}
