import { AmbiguousIdError, SkeinError } from '../../core/errors.ts'
import type { ConversationReader } from '../../core/ports.ts'

/** The shortest id prefix that the store accepts. */
export const shortestIdLength = 6

/** The shortest unique prefix of each id, of at least six characters. May mix ids of conversations and
 *  messages. */
export function shortIds<Id extends string>(ids: Iterable<Id>): ReadonlyMap<Id, string> {
  const sorted = [...new Set(ids)].sort()
  return new Map(
    sorted.map((id, i) => {
      const shared = Math.max(sharedStart(id, sorted[i - 1]), sharedStart(id, sorted[i + 1]))
      return [id, shortenId(id, shared + 1)]
    }),
  )
}

/** A prefix of an id, of at least six characters. Never ends with a dash. */
export function shortenId(id: string, length: number = shortestIdLength): string {
  const short = id.slice(0, Math.max(shortestIdLength, length))
  return short.endsWith('-') ? id.slice(0, short.length + 1) : short
}

function sharedStart(a: string, b: string | undefined): number {
  if (b === undefined) return 0
  let n = 0
  while (n < a.length && a[n] === b[n]) n++
  return n
}

/** The shortest prefix that the store resolves to this id alone, so that it can be pasted. */
export async function uniqueShortId(store: Pick<ConversationReader, 'resolve'>, id: string): Promise<string> {
  for (let length = shortestIdLength; length < id.length; length++) {
    const short = shortenId(id, length)
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
