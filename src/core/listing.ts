import type { Branch } from './branch.ts'
import type { Conversation, ConversationKind } from './conversation.ts'
import type { ConversationId } from './ids.ts'
import type { Message, Role } from './message.ts'
import type { Turn } from './turn.ts'

/** How to page through a list. */
export interface PageOptions {
  /** Most items of a page. Default: 100. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
}

/** A page of a list that can be read from either end. */
export interface OrderedPageOptions extends PageOptions {
  /** Default: `ascending`, oldest first. */
  readonly order?: 'ascending' | 'descending'
}

/** A page of a list. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Pass it as `after` to read the next page. Null on the last page. */
  readonly next: string | null
  /** Rows that could not be read, with the reason. A bad row does not break the list. */
  readonly skipped: readonly SkippedRow[]
}

export interface SkippedRow {
  readonly id: string
  readonly reason: string
}

/** Filters of a list, all of which must match. Null asks for conversations without a value. */
export interface ConversationFilter {
  readonly channel?: string | null
  readonly directory?: string | null
  readonly project?: string | null
  readonly task?: string | null
  readonly kind?: ConversationKind
  readonly keyPrefix?: string
  /** Labels that begin with this text: `subagent:explorer:` finds all runs of that subagent,
   *  `subagent:explorer:<run id>` one of them. */
  readonly labelPrefix?: string
  readonly tag?: string
  /** Text within the title, in any case and with or without accents. */
  readonly title?: string
  /** Top-level metadata fields with these values. */
  readonly metadata?: { readonly [key: string]: string | number | boolean }
  /** Conversations of subagents that were started from this one. */
  readonly parent?: ConversationId
  readonly updatedFrom?: Date
  readonly updatedBefore?: Date
  /** Lists the trash. Default: everything that is not in the trash. */
  readonly trashed?: boolean
}

export interface ListConversations extends ConversationFilter {
  readonly limit?: number
  readonly after?: string
}

/** Which turns to list. */
export interface ListTurns extends OrderedPageOptions {
  /** Only turns with this status. */
  readonly status?: Turn['status']
}

/** Messages of a conversation in the order in which they were stored. */
export interface ListMessages {
  readonly conversationId: ConversationId
  readonly order?: 'ascending' | 'descending'
  readonly limit?: number
  readonly offset?: number
  readonly after?: string
  readonly roles?: readonly Role[]
  readonly label?: string
  /** `preview` returns only the beginning of blobs. */
  readonly blobs?: BlobMode
}

export type BlobMode = 'whole' | 'preview'

/** A conversation in a list, with its active branch. */
export interface ListedConversation extends Conversation {
  readonly branch: Branch
}

export interface SearchOptions {
  readonly order?: 'newest' | 'ranked'
  readonly limit?: number
  readonly after?: string
  /** Length of the snippets, in characters. */
  readonly snippetLength?: number
  readonly directory?: string
  readonly kind?: ConversationKind
}

/** A range of a text, as UTF-16 offsets [start, end). */
export interface TextHit {
  /** Where it begins, in UTF-16 units. */
  readonly start: number
  /** Where it ends: the unit behind its last one. */
  readonly end: number
}

/** An excerpt of a message, shown with a search hit. */
export interface Snippet {
  /** One line: white space and control characters are single spaces, a cut end is an ellipsis. */
  readonly text: string
  /** The ranges of `text` to mark, in order and without overlaps. */
  readonly marks: readonly TextHit[]
}

export interface SearchHit {
  readonly message: Message
  readonly conversation: Pick<Conversation, 'id' | 'title' | 'kind' | 'directory' | 'channel'>
  /** Branches whose path the message is on, the active one first. */
  readonly branches: readonly string[]
  readonly snippet: Snippet
}
