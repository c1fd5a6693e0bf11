import { LRUCache } from 'lru-cache'

/** Bodies of recently read conversations. */
export interface ConversationCache {
  /** The body that was read at this version, or undefined. */
  get(key: CacheKey): string | undefined
  /** Keeps a body, if it is not too large. */
  set(key: CacheKey, body: string): void
}

/** What a body depends on. The version is read from the store before every use, so a body is never stale: a
 *  body that was read while another process wrote belongs to an older version and is not used again. */
export interface CacheKey {
  /** The tenant: two tenants may have conversations with the same id. */
  readonly tenant: string
  /** The conversation. */
  readonly id: string
  /** The version that was read before the body. */
  readonly version: number
  /** The parameters of the request, as text. */
  readonly part: string
}

const mostConversations = 100
const mostCharacters = 32 * 1_048_576

/** The largest body that is kept. Larger ones are streamed each time. */
export const largestCachedBody = 2 * 1_048_576

/** Keeps the bodies of at most 100 conversations, of at most 64 MB: a character takes two bytes. */
export function createConversationCache(): ConversationCache {
  const bodies = new LRUCache<string, string>({
    max: mostConversations,
    maxSize: mostCharacters,
    maxEntrySize: largestCachedBody,
    sizeCalculation: body => Math.max(1, body.length),
  })
  return {
    get: key => bodies.get(textOf(key)),
    set: (key, body) => void bodies.set(textOf(key), body),
  }
}

function textOf({ tenant, id, version, part }: CacheKey): string {
  return JSON.stringify([tenant, id, version, part])
}
