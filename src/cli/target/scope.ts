import type { ConversationFilter } from '../../core/listing.ts'
import type { StoreLocation } from '../store/store-location.ts'

/** The conversations that a command lists. */
export interface ConversationScope {
  readonly filter: Pick<ConversationFilter, 'directory'>
  /** As in a sentence: `in this directory`. */
  readonly words: string
  /** False if `--all` would list more. */
  readonly isAll: boolean
}

/** A project's store is one scope. In the user's store, each directory is a scope. */
export function conversationScope(location: StoreLocation, cwd: string, all: boolean): ConversationScope {
  if (all) return { filter: {}, words: 'in this store', isAll: true }
  if (location.kind === 'project') return { filter: {}, words: 'in this project', isAll: true }
  return { filter: { directory: cwd }, words: 'in this directory', isAll: false }
}
