import type { ConversationFilter } from '../../core/listing.ts'
import type { StoreLocation } from '../store/store-location.ts'

/** Which conversations "here" means. */
export interface ConversationScope {
  readonly filter: Pick<ConversationFilter, 'directory'>
  /** As it stands in a sentence: `in this directory`. */
  readonly words: string
  /** False if there is more elsewhere in the store, which `--all` would bring. */
  readonly isAll: boolean
}

/** A project's store is all of one piece; elsewhere a directory has its own. */
export function conversationScope(location: StoreLocation, cwd: string, all: boolean): ConversationScope {
  if (all) return { filter: {}, words: 'in this store', isAll: true }
  if (location.kind === 'project') return { filter: {}, words: 'in this project', isAll: true }
  return { filter: { directory: cwd }, words: 'in this directory', isAll: false }
}
