// `core` is what a conversation is: values, errors, ports, and functions without I/O. It imports nothing of
// ours and no package, and reads neither clock nor environment (test/architecture.test.ts).
// - values: `message.ts`, `block.ts`, `branch.ts`, `conversation.ts`, `turn.ts`, `summary.ts`, `event.ts`
// - this file: what a store does, cut into narrow ports. A consumer asks for the narrowest one it needs. The
//   others are in files of their own: `turn-writer.ts`, `overview.ts`, `follow.ts` …; `Store` has all of them
// - ids: `body.ts` and `hash.ts` (format 1, docs/data-model.md); `prepare.ts` and `check.ts` check input
// - reading: `runs.ts`, `path.ts`, `tree.ts`, `search/`; moving: `record.ts` and `take-in.ts`

import type { TokenKeeper } from './access-token.ts'
import type { ApprovalKeeper } from './approval.ts'
import type { AgentLink, Branch, BranchInfo, BranchRef, NewAgentLink, NewBranch } from './branch.ts'
import type { TailFinder } from './branch-with-tail.ts'
import type { ConditionalWriter } from './conditional-writer.ts'
import type { Conversation, ConversationPatch, NewConversation } from './conversation.ts'
import type { ListEvents, TraceEvent } from './event.ts'
import type { Verifier } from './finding.ts'
import type { Follower } from './follow.ts'
import type { ConversationId, MessageId } from './ids.ts'
import type {
  ConversationFilter,
  ListConversations,
  ListDirectories,
  ListedConversation,
  ListMessages,
  ListPath,
  ListTurns,
  OrderedPageOptions,
  Page,
  PageOptions,
  Searcher,
} from './listing.ts'
import type { Maintainer } from './maintainer.ts'
import type { Meter } from './measure.ts'
import type { Message, NewMessage } from './message.ts'
import type { OverviewReader } from './overview.ts'
import type { PathSectionReader } from './path-section.ts'
import type { RecordMover } from './record.ts'
import type { DeletedMessages, ErasedMessages, PurgedConversation, Restored } from './removal.ts'
import type { Stretch } from './runs.ts'
import type { Summary } from './summary.ts'
import type { Tail, TailBudget } from './tail.ts'
import type { TaskKeeper } from './task.ts'
import type { DraftPiece, Turn, TurnStep } from './turn.ts'
import type { TurnWriter } from './turn-writer.ts'

/** A branch together with its conversation. */
export interface BranchInConversation {
  /** The conversation of the branch. */
  readonly conversation: Conversation
  /** The branch as it was when it was read. */
  readonly branch: Branch
}

/** The result of `findOrCreate`. */
export interface FoundOrCreated extends BranchInConversation {
  /** True if the conversation is new. */
  readonly created: boolean
}

/** What an id prefix, a key or `id:branch` refers to. */
export type Resolved = BranchInConversation & {
  /** The message, if the text named one. Null otherwise. */
  readonly message: MessageId | null
}

/** How messages are read. */
export interface ReadOptions {
  /** Leaves out the messages of open turns. */
  readonly wholeTurns?: boolean
  /** `whole` (default) puts blobs back into the content. `preview` returns their first 1,024 bytes. */
  readonly blobs?: 'whole' | 'preview'
}

/** Reads conversations, their branches and their links. */
export interface ConversationReader {
  /** Returns a trashed conversation with `trashedAt` set. Throws NotFoundError. */
  getConversation(id: ConversationId): Promise<Conversation>
  /** The counter that every change increments. Reads one row, for caches and for following a conversation
   *  live. */
  versionOf(id: ConversationId): Promise<number>
  /** Reads a branch and its head. Throws NotFoundError. */
  getBranch(ref: BranchRef): Promise<Branch>
  /** Oldest first. */
  listBranches(id: ConversationId, page?: PageOptions): Promise<Page<BranchInfo>>
  /** The branch with this key, or null. Expired and trashed conversations are not found. */
  findByKey(key: string): Promise<BranchInConversation | null>
  /** The newest conversation of a task at its active branch, or null. Expired and trashed ones are not
   *  found. A task belongs to its project: the same task of another project is another task. Without a
   *  project, only conversations without a project are found. */
  findByTask(task: string, project?: string | null): Promise<BranchInConversation | null>
  /** The branch that a foreign agent links to this id, or null. */
  findByAgentLink(agent: string, foreignId: string): Promise<BranchInConversation | null>
  /** By agent and directory. */
  listAgentLinks(ref: BranchRef, page?: PageOptions): Promise<Page<AgentLink>>
  /** Resolves a conversation id, a message id, a key or `id:branch`. Ids may be shortened to a unique
   *  prefix of at least six characters. Throws NotFoundError, AmbiguousIdError or InvalidError. */
  resolve(text: string): Promise<Resolved>
}

/** Reads messages. */
export interface MessageReader {
  /** Returns messages in the order of the ids. Throws NotFoundError for the first missing one. */
  getMessages(ids: readonly MessageId[], options?: ReadOptions): Promise<readonly Message[]>
  /** The messages from the root to this one. */
  listPath(id: MessageId, options?: ReadOptions & ListPath): Promise<Page<Message>>
  /** The newest part of a path. Takes time in proportion to the tail, not to the history.
   *
   * @example
   * ```ts
   * import { openStore, textOf } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { branch } = await store.create()
   * let head = branch.head
   * for (let n = 1; n <= 100; n++) {
   *   head = (await store.append(branch, head, [{ role: 'user', content: `Message ${n}` }])).head
   * }
   * const { messages, older } = await store.tail(head!, { messages: 2 })
   * console.log(messages.map(textOf), older) // [ 'Message 99', 'Message 100' ] 98
   * ```
   */
  tail(id: MessageId, budget: TailBudget, options?: ReadOptions): Promise<Tail>
  /** The shape of a conversation without contents, in order of seq. */
  listStretches(id: ConversationId, page?: PageOptions): Promise<Page<Stretch>>
  /** The bytes of a blob, by its hash. Throws NotFoundError. */
  readBlob(hash: string): Promise<Uint8Array>
  /** The turn with this key, or null. */
  findTurn(id: ConversationId, turnKey: string): Promise<Turn | null>
  /** In the order in which they began. */
  listTurns(id: ConversationId, options?: ListTurns): Promise<Page<Turn>>
  /** The pieces of a turn's unfinished answer, in order. */
  readDraft(id: ConversationId, turnKey: string, page?: PageOptions): Promise<Page<DraftPiece>>
  /** Sorted by their last message. */
  listSummaries(id: ConversationId, options?: OrderedPageOptions): Promise<Page<Summary>>
  /** In the order in which they were added. */
  listEvents(id: ConversationId, options?: ListEvents): Promise<Page<TraceEvent>>
}

/** The turn that an append belongs to, and what to do on a conflict. */
export interface AppendOptions {
  /** Names the write, so that a retry does not append twice. Default: the messages belong to no turn. */
  readonly turn?: TurnStep
  /** On a conflict or a busy branch: refuse (default), or append to a new sibling branch `main-2`, `main-3`
   *  … */
  readonly onConflict?: 'refuse' | 'fork'
  /** Makes the written branch the one that callers find, in the same transaction: it takes this key from the
   *  branch of the conversation that has it, and becomes the active branch if that one was. Null for callers
   *  without a key: it replaces the active branch, if that is a sibling (`main`, `main-2` …). Nothing moves
   *  if the written branch has a key of its own. Default: no key moves. */
  readonly moveKey?: string | null
}

/** The result of an append. */
export interface Appended {
  /** The branch that was written: the sibling, if one was created. */
  readonly branch: BranchRef
  /** The new head of the branch, which the next append expects. */
  readonly head: MessageId
  /** The ids of the messages, in the order given. */
  readonly ids: readonly [MessageId, ...MessageId[]]
  /** `replayed`: the same turn key and step had stored the same messages before, so nothing was written. */
  readonly outcome: 'appended' | 'forked' | 'replayed'
  /** False inside a transaction of the caller (`sqliteStore` on a handle in a transaction, `within` on
   *  PostgreSQL): nothing is stored until the caller commits, and a rollback removes it. */
  readonly committed: boolean
}

/** A message to store under any parent: an id, an earlier item of the same call, or null for a root. */
export interface SaveItem {
  /** The message to store. */
  readonly message: NewMessage
  /** `{ item: 0 }` names the first item of the call. */
  readonly parent: MessageId | { readonly item: number } | null
}

/** Writes conversations, branches and messages. Each call is one transaction: all or nothing. */
export interface ConversationWriter {
  /** Creates a conversation with the empty branch `main`. Throws KeyReusedError if its key is taken. */
  create(conversation?: NewConversation): Promise<BranchInConversation>
  /** The branch with this key, or a new conversation. Atomic across processes. An expired conversation
   *  gives the key up.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const first = await store.findOrCreate('discord:dm:42', { channel: 'discord' })
   * const again = await store.findOrCreate('discord:dm:42')
   * console.log(first.created, again.created) // true false
   * console.log(again.conversation.id === first.conversation.id) // true
   * ```
   */
  findOrCreate(key: string, conversation?: Omit<NewConversation, 'key'>): Promise<FoundOrCreated>
  /** The newest conversation of a task at its active branch, or a new conversation. Atomic across processes:
   *  callers at the same moment get the same conversation. `conversation.project` is the project of the task,
   *  as in `findByTask`. */
  findOrCreateByTask(task: string, conversation?: Omit<NewConversation, 'task'>): Promise<FoundOrCreated>
  /** Changes fields of a conversation and returns it. Throws NotFoundError. */
  updateConversation(id: ConversationId, patch: ConversationPatch): Promise<Conversation>
  /** Appends to a branch and moves its head. Checks in this order: a replay of the turn's (key, step), the
   *  holder of the branch, the expected head. A retry with the same turn key and step returns the stored
   *  result instead of appending twice. Throws ConflictError, BusyError, KeyReusedError, ExpiredError.
   *
   * @example
   * ```ts
   * import { ConflictError, openStore } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { branch } = await store.create()
   * const { head } = await store.append(branch, null, [{ role: 'user', content: 'Hello' }])
   *
   * // Another writer has read the old head. It is refused, or continues on a sibling branch.
   * const late = [{ role: 'user', content: 'Hello?' }] as const
   * try {
   *   await store.append(branch, null, late)
   * } catch (error) {
   *   if (error instanceof ConflictError) console.log(error.actual === head) // true
   * }
   * const beside = await store.append(branch, null, late, { onConflict: 'fork' })
   * console.log(beside.outcome, beside.branch.name) // forked main-2
   * ```
   */
  append(
    branch: BranchRef,
    expectedHead: MessageId | null,
    messages: readonly NewMessage[],
    options?: AppendOptions,
  ): Promise<Appended>
  /** Stores messages under any parents and moves no branch. Returns ids in the order of the items. */
  save(id: ConversationId, items: readonly SaveItem[]): Promise<readonly [MessageId, ...MessageId[]]>
  /** Sets the label of a message, or removes it with null. The id does not change. */
  setLabel(id: MessageId, label: string | null): Promise<void>

  /** Creates a branch whose head is this message; null creates an empty one.
   *
   * @example
   * ```ts
   * import { openStore, pathOf, textOf } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { conversation, branch } = await store.create()
   * const { ids } = await store.append(branch, null, [
   *   { role: 'user', content: 'Name a colour.' },
   *   { role: 'assistant', content: 'Red.' },
   * ])
   *
   * // Fork after the question: one row is written, no message is copied.
   * const fork = await store.createBranch(conversation.id, ids[0], { name: 'another-try' })
   * const { head } = await store.append(fork, fork.head, [{ role: 'assistant', content: 'Blue.' }])
   * console.log((await pathOf(store, head)).map(textOf)) // [ 'Name a colour.', 'Blue.' ]
   * ```
   */
  createBranch(id: ConversationId, at: MessageId | null, branch: NewBranch): Promise<Branch>
  /** Renames a branch. Throws KeyReusedError if the name is taken. */
  renameBranch(ref: BranchRef, name: string): Promise<Branch>
  /** Deletes the branch. Its messages remain. The active branch cannot be deleted. */
  deleteBranch(ref: BranchRef): Promise<void>
  /** Moves the branch to another message of its conversation, if its head is the expected one. */
  moveBranch(ref: BranchRef, expectedHead: MessageId | null, to: MessageId | null): Promise<Branch>
  /** Makes this the branch for callers that name none. */
  activateBranch(ref: BranchRef): Promise<void>
  /** Sets or removes the key of the branch. Throws KeyReusedError if another branch has the key. */
  setKey(ref: BranchRef, key: string | null): Promise<Branch>
  /** Gives the key of the branch to another branch of the conversation, which becomes the active one if this
   *  one was. Throws KeyReusedError if the other branch has a key of its own. Returns the other branch. */
  moveKey(ref: BranchRef, to: string): Promise<Branch>
  /** Stores a foreign agent's own id for a branch, in place of an earlier link for the same directory. */
  setAgentLink(ref: BranchRef, link: NewAgentLink): Promise<void>
  /** Removes the link of an agent and a directory, if there is one. */
  removeAgentLink(ref: BranchRef, agent: string, directory: string): Promise<void>
  /** Renames the branch to `before-reset-<n>`, or to `archiveAs`, and creates an empty one with its name and
   *  key. The prompt of the conversation and a system message at the beginning of the branch stay, unless
   *  `keepPrompt` is false. `archived` is null if there were no messages; with `archiveAs` it is an empty
   *  branch then, so that a repeated call is refused with KeyReusedError in every case. Throws OwnedError for
   *  a conversation of another program. */
  reset(
    ref: BranchRef,
    options?: { readonly keepPrompt?: boolean; readonly archiveAs?: string },
  ): Promise<{ branch: Branch; archived: Branch | null }>
}

/** Lists conversations and messages, page by page. */
export interface Lister {
  /** A page of conversations, most recently used first.
   *
   * @example
   * ```ts
   * import { itemsOf, openStore } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * for (const title of ['One', 'Two', 'Three']) await store.create({ title, tags: ['demo'] })
   * const { items, next } = await store.listConversations({ tag: 'demo', limit: 2 })
   * console.log(items.length, next !== null) // 2 true
   *
   * // Every page, one after the other.
   * let count = 0
   * for await (const _ of itemsOf(page => store.listConversations({ tag: 'demo', ...page }))) count++
   * console.log(count) // 3
   * ```
   */
  listConversations(options?: ListConversations): Promise<Page<ListedConversation>>
  /** The number of conversations that match, without reading them. */
  countConversations(filter?: ConversationFilter): Promise<number>
  /** The directories that conversations have, each once, in order of their bytes. */
  listDirectories(options?: ListDirectories): Promise<Page<string>>
  /** A page of the messages of a conversation, newest first by default. `listPath` follows one branch
   *  instead. */
  listMessages(options: ListMessages): Promise<Page<Message>>
}

/** Deletes messages and conversations. */
export interface Deleter {
  /** Removes messages and what is derived from them: search entries, blobs without other references,
   *  summaries, an automatic title. Leaves tombstones. Throws InvalidError for a message with children,
   *  unless recursive. */
  deleteMessages(
    ids: readonly MessageId[],
    options?: { readonly recursive?: boolean; readonly reason?: string },
  ): Promise<DeletedMessages>
  /** Removes the content of messages and what is derived from it, and keeps their places, so the chain of
   *  hashes still verifies.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   *
   * await using store = await openStore('conversations.db')
   * const { branch } = await store.create()
   * const { ids } = await store.append(branch, null, [{ role: 'user', content: 'Key: swordfish' }])
   *
   * const { erased, remains } = await store.eraseMessages(ids, { by: 'ada', reason: 'a password' })
   * console.log(erased, remains) // 1 [ 'backups' ]
   * ```
   */
  eraseMessages(
    ids: readonly MessageId[],
    erasure: { readonly by: string; readonly reason: string },
  ): Promise<ErasedMessages>
  /** Moves a conversation to the trash and frees its keys. False if it does not exist or is in the
   *  trash. */
  trash(id: ConversationId): Promise<boolean>
  /** Takes a conversation out of the trash and renews it if it has expired. */
  restore(id: ConversationId): Promise<Restored>
  /** Removes a trashed conversation permanently, with its messages, settings and prompts. */
  purge(id: ConversationId): Promise<PurgedConversation>
}

/** All ports. Functions should ask for the narrowest port they need. */
export interface Store
  extends ConversationReader,
    MessageReader,
    TailFinder,
    ConversationWriter,
    ConditionalWriter,
    TurnWriter,
    Lister,
    Searcher,
    Deleter,
    RecordMover,
    Maintainer,
    Verifier,
    Meter,
    TaskKeeper,
    TokenKeeper,
    OverviewReader,
    PathSectionReader,
    ApprovalKeeper,
    Follower {
  /** Closes what the store owns: its file or its pool. A borrowed handle stays open. */
  close(): Promise<void>
  /** The same as `close`, for `await using store = await openStore(…)`. */
  [Symbol.asyncDispose](): Promise<void>
}
