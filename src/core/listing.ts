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

/** A page of a path. */
export interface ListPath extends PageOptions {
  /** Begins with the message at this depth; the root has depth 0. Ignored with `after`. Default: 0. */
  readonly fromDepth?: number
}

/** A page of a list that can be read from either end. */
export interface OrderedPageOptions extends PageOptions {
  /** Default: `ascending`, oldest first. */
  readonly order?: 'ascending' | 'descending'
}

/** A page of a list. */
export interface Page<T> {
  /** The items of this page, in the order of the list. */
  readonly items: readonly T[]
  /** Pass it as `after` to read the next page. Null on the last page. */
  readonly next: string | null
  /** Rows that could not be read, with the reason. A bad row does not break the list. */
  readonly skipped: readonly SkippedRow[]
}

/** A row that could not be read. `verify` says more about it. */
export interface SkippedRow {
  /** The id of the conversation or message, as stored. */
  readonly id: string
  /** Why it could not be read, for people. */
  readonly reason: string
}

/** Filters of a list, all of which must match. Null asks for conversations without a value. */
export interface ConversationFilter {
  /** Only conversations of this channel. */
  readonly channel?: string | null
  /** Only conversations of this directory, or of one of these, without their subdirectories. */
  readonly directory?: string | readonly string[] | null
  /** Only conversations of this project. */
  readonly project?: string | null
  /** Only conversations of this task. */
  readonly task?: string | null
  /** Default: both kinds. */
  readonly kind?: ConversationKind
  /** Only conversations with a branch whose key begins with this text. */
  readonly keyPrefix?: string
  /** Labels that begin with this text: `subagent:explorer:` finds all runs of that subagent,
   *  `subagent:explorer:<run id>` one of them. */
  readonly labelPrefix?: string
  /** Only conversations with this tag. */
  readonly tag?: string
  /** Text within the title, in any case and with or without accents. */
  readonly title?: string
  /** Top-level metadata fields with these values: texts, numbers and booleans. */
  readonly metadata?: object
  /** Conversations of subagents that were started from this one. */
  readonly parent?: ConversationId
  /** Only conversations with activity at this time or later. */
  readonly updatedFrom?: Date
  /** Only conversations whose last activity was before this time. */
  readonly updatedBefore?: Date
  /** Only conversations that have expired at this time. */
  readonly expiredBy?: Date
  /** Lists the trash. Default: everything that is not in the trash. */
  readonly trashed?: boolean
}

/** Which conversations to list, most recently used first. */
export interface ListConversations extends ConversationFilter {
  /** Most items of a page, 1 to 1,000. Default: 20. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
}

/** Which directories to list. */
export interface ListDirectories extends PageOptions {
  /** Only this directory and the directories below it. */
  readonly within?: string
  /** The directories of conversations in the trash. Default: of those that are not. */
  readonly trashed?: boolean
}

/** Which turns to list. */
export interface ListTurns extends OrderedPageOptions {
  /** Only turns with this status. */
  readonly status?: Turn['status']
  /** Only the turns that begin with these messages: `first` of a turn, and `turn` of each of its messages.
   *  Takes time in proportion to their number, not to the length of the list. */
  readonly firsts?: readonly number[]
}

/** Which messages of a conversation `listMessages` returns, in the order in which they were stored.
 *
 * @example
 * ```ts
 * import { openStore, textOf } from 'skein'
 *
 * await using store = await openStore(':memory:')
 * const { conversation, branch } = await store.create()
 * await store.append(branch, null, [
 *   { role: 'user', content: 'Hi' },
 *   { role: 'assistant', content: 'Hello!' },
 * ])
 * const { items } = await store.listMessages({ conversationId: conversation.id, roles: ['user'] })
 * console.log(items.map(textOf)) // [ 'Hi' ]
 * ```
 */
export interface ListMessages {
  /** Lists the messages of all its branches. */
  readonly conversationId: ConversationId
  /** Default: `descending`, newest first. */
  readonly order?: 'ascending' | 'descending'
  /** Most items of a page, 1 to 10,000. Default: 100. */
  readonly limit?: number
  /** Messages to skip. Takes time in proportion to the number: `after` does not. Default: 0. */
  readonly offset?: number
  /** `next` of the page before. */
  readonly after?: string
  /** Only messages with a higher seq: those stored after it. Takes time in proportion to the page. */
  readonly afterSeq?: number
  /** Only messages with one of these roles. Default: all. */
  readonly roles?: readonly Role[]
  /** Only messages with this label. */
  readonly label?: string
  /** `preview` returns only the beginning of blobs. */
  readonly blobs?: 'whole' | 'preview'
}

/** A conversation in a list, with its active branch. */
export interface ListedConversation extends Conversation {
  /** The active branch. */
  readonly branch: Branch
}

/** The order and size of a page of hits, and where to search: in one user's conversations by the prefix of
 *  their keys, for example, or by their metadata. A search in up to 1,000 conversations takes time for those
 *  only, however many others the store has. */
export interface SearchOptions
  extends Pick<ConversationFilter, 'channel' | 'project' | 'keyPrefix' | 'labelPrefix' | 'tag' | 'metadata'> {
  /** `newest` (default) lists the newest messages first, `ranked` the most relevant of the newest 2,000. */
  readonly order?: 'newest' | 'ranked'
  /** Most hits of a page, 1 to 200. Default: 20. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
  /** Length of the snippets, in characters. */
  readonly snippetLength?: number
  /** Only conversations of this directory, or of one of these. */
  readonly directory?: string | readonly string[]
  /** Only conversations of this kind. Default: both. */
  readonly kind?: ConversationKind
  /** Only these conversations, at most 1,000. An empty list finds nothing, and so does an unknown id.
   *  Default: all. */
  readonly conversations?: readonly ConversationId[]
  /** Most milliseconds to search. A search that needs longer returns the hits that it has; `next` continues
   *  it. Default: 1,000. */
  readonly budgetMs?: number
  /** Ends the search, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** The filters of a list that a search has too. */
export type SearchFilter = Pick<
  SearchOptions,
  'channel' | 'project' | 'keyPrefix' | 'labelPrefix' | 'tag' | 'metadata'
>

/** A range of a text, as UTF-16 offsets [start, end). */
export interface TextHit {
  /** Where it begins, in UTF-16 units. */
  readonly start: number
  /** Where it ends: the unit after its last one. */
  readonly end: number
}

/** An excerpt of a message, shown with a search hit. */
export interface Snippet {
  /** One line: white space and control characters are single spaces, a cut end is an ellipsis. */
  readonly text: string
  /** The ranges of `text` to mark, in order and without overlaps. */
  readonly marks: readonly TextHit[]
}

/** A message that matches a query. */
export interface SearchHit {
  /** The whole message. */
  readonly message: Message
  /** The conversation of the message, as far as a list of hits shows it. */
  readonly conversation: Pick<Conversation, 'id' | 'title' | 'kind' | 'directory' | 'channel'>
  /** Branches whose path the message is on, the active one first. */
  readonly branches: readonly string[]
  /** The part of the message that matches. */
  readonly snippet: Snippet
}

/** The hits of a search. A page with fewer hits than its limit and with a `next` was ended by its budget. */
export interface SearchPage extends Page<SearchHit> {
  /** Messages in the scope of the search that were not searched: the index does not contain them yet, and
   *  they are not among the newest 2,000 of those. 0 means that every message was searched. With more than
   *  5,000 such conversations the number is a lower bound. `indexSearch` completes the index. */
  readonly unindexed: number
}

/** How to follow the completion of the search index. */
export interface IndexOptions {
  /** Ends it with the reason of the signal. What is indexed by then stays indexed. */
  readonly signal?: AbortSignal
  /** Called after each batch. */
  readonly onProgress?: (progress: IndexProgress) => void
}

/** How far the search index is. */
export interface IndexProgress {
  /** Messages indexed so far. */
  readonly messages: number
  /** The number of messages that were not in the index at the beginning, at most. */
  readonly total: number
}

/** Searches messages. */
export interface Searcher {
  /** Finds messages of any process. Every message acknowledged before the call is searched, or counted in
   *  `unindexed`: a search reads the index and the newest 2,000 messages that are not in the index yet. It
   *  writes nothing, so it works on a read-only store and on a full disk. Throws InvalidError with the
   *  position of the error in the query.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { branch } = await store.create({ title: 'Staging' })
   * await store.append(branch, null, [{ role: 'user', content: 'The websocket drops at 02:00.' }])
   *
   * const { items } = await store.search('websocket drop*')
   * for (const { conversation, snippet } of items) console.log(`${conversation.title}: ${snippet.text}`)
   * // Staging: The websocket drops at 02:00.
   * ```
   */
  search(query: string, options?: SearchOptions): Promise<SearchPage>
}
