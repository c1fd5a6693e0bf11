import type { AgentLink, Branch, BranchInfo, BranchRef, NewAgentLink, NewBranch } from './branch.ts'
import type { Conversation, ConversationPatch, NewConversation } from './conversation.ts'
import type { Holder } from './errors.ts'
import type { EventListing, NewEvent, TraceEvent } from './event.ts'
import type { Verified, VerifyOptions } from './finding.ts'
import type { ConversationId, MessageId } from './ids.ts'
import type {
  BlobMode,
  ConversationFilter,
  ListConversations,
  ListedConversation,
  ListMessages,
  Page,
  SearchHit,
  SearchOptions,
} from './listing.ts'
import type { Measured } from './measure.ts'
import type { Message, NewMessage, NonEmpty } from './message.ts'
import type { RecordOutcomes, StoreRecord, UnreadableRecord } from './record.ts'
import type { Stretch } from './runs.ts'
import type { MessageRange, NewSummary, Summary, SummaryClaim } from './summary.ts'
import type { DraftPiece, EndedTurn, Turn, TurnEnd, TurnStep } from './turn.ts'

/** A branch together with its conversation. */
export interface BranchInConversation {
  readonly conversation: Conversation
  readonly branch: Branch
}

export interface FoundOrCreated extends BranchInConversation {
  readonly created: boolean
}

/** What an id prefix, a key or `id:branch` stands for. */
export type Resolved = BranchInConversation & { readonly message: MessageId | null }

export interface ReadOptions {
  /** Leaves out the messages of turns that are still open. */
  readonly wholeTurns?: true
  /** `whole` (default) puts blobs back in their place; `preview` brings the first 1,024 characters. */
  readonly blobs?: BlobMode
}

/** How far back a tail reaches: until either runs out. */
export interface TailBudget {
  readonly tokens?: number
  readonly messages?: number
}

/** The newest messages of a path, oldest first; never begins inside a turn. */
export interface Tail {
  readonly messages: readonly Message[]
  /** Messages of the path that lie before the tail. */
  readonly older: number
  readonly olderTokens: number
}

/** Reads conversations, their branches and what belongs to them. */
export interface ConversationReader {
  /** Throws NotFoundError. One in the trash is returned, with `trashedAt` set. */
  getConversation(id: ConversationId): Promise<Conversation>
  /** The counter that every change raises: one row, for caches and live follow. */
  versionOf(id: ConversationId): Promise<number>
  getBranch(ref: BranchRef): Promise<Branch>
  listBranches(id: ConversationId): Promise<readonly BranchInfo[]>
  /** The living, unexpired branch with this key, or null. */
  findByKey(key: string): Promise<BranchInConversation | null>
  /** The newest living, unexpired conversation of a task, at its active branch, or null. */
  findByTask(task: string): Promise<BranchInConversation | null>
  /** The branch that a foreign agent knows by this id, or null. */
  findByAgentLink(agent: string, foreignId: string): Promise<BranchInConversation | null>
  listAgentLinks(ref: BranchRef): Promise<readonly AgentLink[]>
  /** Reads a conversation id, message id, key or `id:branch`, ids by unique prefix of at least six
   *  characters. Throws NotFoundError, AmbiguousIdError or InvalidError. */
  resolve(text: string): Promise<Resolved>
}

/** Reads messages. */
export interface MessageReader {
  /** In the order asked for. Throws NotFoundError for the first that is missing. */
  getMessages(ids: readonly MessageId[], options?: ReadOptions): Promise<readonly Message[]>
  /** From the root to this message. */
  path(id: MessageId, options?: ReadOptions): Promise<readonly Message[]>
  /** The newest part of a path, in time that depends on its own length and not on the history's. */
  tail(id: MessageId, budget: TailBudget, options?: ReadOptions): Promise<Tail>
  /** The shape of a conversation without its contents, in order of seq. */
  structure(id: ConversationId): Promise<readonly Stretch[]>
  readBlob(hash: string): Promise<Uint8Array>
  listTurns(id: ConversationId, options?: { readonly status?: Turn['status'] }): Promise<readonly Turn[]>
  /** The pieces of the answer that is arriving in a turn. */
  readDraft(id: ConversationId, turnKey: string): Promise<readonly DraftPiece[]>
  /** In the order in which they end; with `newest` only so many, those that end last. */
  listSummaries(id: ConversationId, options?: { readonly newest?: number }): Promise<readonly Summary[]>
  listEvents(id: ConversationId, options?: EventListing): Promise<readonly TraceEvent[]>
}

export interface AppendOptions {
  readonly turn?: TurnStep
  /** On a lost race, or where another's open turn holds the branch: refuse (default), or go on
   *  beside it, on a sibling branch `main-2`, `main-3` … */
  readonly onConflict?: 'refuse' | 'sibling'
}

export interface Appended {
  /** The branch written to: a sibling if that was asked for and needed. */
  readonly branch: BranchRef
  readonly head: MessageId
  readonly ids: NonEmpty<MessageId>
  /** `replayed`: the same turn key and step had stored the same words before; nothing was written. */
  readonly outcome: 'appended' | 'sibling' | 'replayed'
}

/** A message to be stored under any parent: an id, an earlier item of the same call, or null for a root. */
export interface SaveItem {
  readonly message: NewMessage
  readonly parent: MessageId | { readonly item: number } | null
}

/** Writes conversations, branches and messages. Each call is one transaction: all or nothing. */
export interface ConversationWriter {
  create(conversation?: NewConversation): Promise<BranchInConversation>
  /** The living branch with this key; otherwise a new conversation. Atomic across processes. An
   *  expired holder gives the key up. */
  findOrCreate(key: string, conversation?: Omit<NewConversation, 'key'>): Promise<FoundOrCreated>
  updateConversation(id: ConversationId, patch: ConversationPatch): Promise<Conversation>
  /** Appends to a branch and moves its head. Checked in this order: the turn's pair (key, step), who
   *  holds the branch, the head. Throws ConflictError, BusyError, KeyReusedError, ExpiredError.
   *
   * @example
   * ```ts
   * import { ConflictError, openStore } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { branch } = await store.create()
   * const { head } = await store.append(branch, null, [{ role: 'user', blocks: 'Hello' }])
   *
   * // Another writer has read the old head. It is refused, or continues on a sibling branch.
   * const late = [{ role: 'user', blocks: 'Hello?' }] as const
   * try {
   *   await store.append(branch, null, late)
   * } catch (error) {
   *   if (error instanceof ConflictError) console.log(error.actual === head) // true
   * }
   * const beside = await store.append(branch, null, late, { onConflict: 'sibling' })
   * console.log(beside.outcome, beside.branch.name) // sibling main-2
   * ```
   */
  append(
    branch: BranchRef,
    expectedHead: MessageId | null,
    messages: NonEmpty<NewMessage>,
    options?: AppendOptions,
  ): Promise<Appended>
  /** Stores messages under any parents and moves no branch. Returns ids in the order given. */
  save(id: ConversationId, items: NonEmpty<SaveItem>): Promise<NonEmpty<MessageId>>
  setLabel(id: MessageId, label: string | null): Promise<void>

  /** Creates a branch whose head is this message; null creates an empty one.
   *
   * @example
   * ```ts
   * import { openStore, textOf } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { conversation, branch } = await store.create()
   * const { ids } = await store.append(branch, null, [
   *   { role: 'user', blocks: 'Name a colour.' },
   *   { role: 'assistant', blocks: 'Red.' },
   * ])
   *
   * // Fork after the question: one row is written, no message is copied.
   * const fork = await store.createBranch(conversation.id, ids[0], { name: 'another-try' })
   * const { head } = await store.append(fork, fork.head, [{ role: 'assistant', blocks: 'Blue.' }])
   * console.log((await store.path(head)).map(textOf)) // [ 'Name a colour.', 'Blue.' ]
   * ```
   */
  createBranch(id: ConversationId, at: MessageId | null, branch: NewBranch): Promise<Branch>
  renameBranch(ref: BranchRef, name: string): Promise<Branch>
  /** Removes the pointer; the messages stay. The active branch cannot be removed. */
  deleteBranch(ref: BranchRef): Promise<void>
  /** Points the branch elsewhere in its conversation, if its head is still the expected one. */
  moveBranch(ref: BranchRef, expectedHead: MessageId | null, to: MessageId | null): Promise<Branch>
  /** Makes this the branch for callers that name none. */
  activateBranch(ref: BranchRef): Promise<void>
  /** Gives the branch a key, or takes it away. Throws KeyReusedError if another living branch has it. */
  setKey(ref: BranchRef, key: string | null): Promise<Branch>
  setAgentLink(ref: BranchRef, link: NewAgentLink): Promise<void>
  removeAgentLink(ref: BranchRef, agent: string, directory: string): Promise<void>
  /** Archives the branch as `before-reset-<n>` and puts an empty one with its name and key in its place. */
  reset(
    ref: BranchRef,
    options?: { readonly keepPrompt?: boolean },
  ): Promise<{ branch: Branch; archived: Branch | null }>
}

/** Writes what accompanies a turn while it runs. */
export interface TurnWriter {
  /** Adds pieces to the answer that is arriving, without waiting for the disk, and renews the lease. */
  putDraft(id: ConversationId, turnKey: string, holder: Holder, pieces: NonEmpty<DraftPiece>): Promise<void>
  /** Throws ExpiredError if the turn is no longer the holder's. */
  renewTurn(id: ConversationId, turnKey: string, holder: Holder): Promise<Turn>
  endTurn(id: ConversationId, turnKey: string, end: TurnEnd): Promise<EndedTurn>
  /** Takes up the turn that the branch ends with, if it was interrupted or failed: it is open again, and the
   *  holder's; its next step has the number `lastStep + 1`. Null if the branch ends with no such turn. Of many that
   *  try, one gets it; the others get BusyError. */
  reopenTurn(ref: BranchRef, holder: Holder): Promise<Turn | null>
  addEvents(id: ConversationId, events: NonEmpty<NewEvent>): Promise<void>
  /** Takes the range for 30 seconds, or says that it has been summarised. Throws BusyError. */
  claimSummary(id: ConversationId, range: MessageRange, holder: Holder): Promise<SummaryClaim>
  putSummary(id: ConversationId, summary: NewSummary): Promise<Summary>
}

export interface Lister {
  listConversations(options?: ListConversations): Promise<Page<ListedConversation>>
  countConversations(filter?: ConversationFilter): Promise<number>
  listMessages(options: ListMessages): Promise<Page<Message>>
}

export interface Searcher {
  /** Finds messages. Whatever was acknowledged before the call is found, whoever wrote it.
   *  Throws InvalidError, with the position, for a query that cannot be read.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { branch } = await store.create({ title: 'Staging' })
   * await store.append(branch, null, [{ role: 'user', blocks: 'The websocket drops at 02:00.' }])
   *
   * const { items } = await store.search('websocket drop*')
   * for (const { conversation, snippet } of items) console.log(`${conversation.title}: ${snippet.text}`)
   * // Staging: The websocket drops at 02:00.
   * ```
   */
  search(query: string, options?: SearchOptions): Promise<Page<SearchHit>>
}

export interface MovedBranch {
  readonly branch: BranchRef
  readonly from: MessageId
  readonly to: MessageId | null
}

export interface DeletedMessages {
  /** How many went; ids that were not there do not count. */
  readonly deleted: number
  readonly moved: readonly MovedBranch[]
  readonly summaries: number
}

export interface Restored {
  /** Keys that another branch has taken meanwhile; they were not given back. */
  readonly keysTaken: readonly string[]
}

/** Takes things away. */
export interface Deleter {
  /** Throws InvalidError for a message with children, unless recursive. Leaves tombstones. */
  deleteMessages(
    ids: readonly MessageId[],
    options?: { readonly recursive?: true; readonly reason?: string },
  ): Promise<DeletedMessages>
  /** Removes the words and keeps the place: the chain still verifies. Returns how many were erased. */
  eraseMessages(
    ids: readonly MessageId[],
    erasure: { readonly by: string; readonly reason: string },
  ): Promise<number>
  /** Moves a conversation to the trash and frees its keys. False if there is none, or it is there already. */
  trash(id: ConversationId): Promise<boolean>
  /** Takes a conversation out of the trash; one that has expired meanwhile is renewed. */
  restore(id: ConversationId): Promise<Restored>
  /** Removes a trashed conversation for good. False if there is none. */
  purge(id: ConversationId): Promise<boolean>
}

export interface SweepReceipt {
  readonly dryRun: boolean
  /** Expired task conversations that went to the trash. */
  readonly trashed: readonly ConversationId[]
  /** Trashed conversations that are gone for good. */
  readonly purged: readonly ConversationId[]
  /** Set if the clock has jumped by more than a day since the last sweep: then nothing was done. */
  readonly clockJumped: { readonly from: Date; readonly to: Date } | null
}

/** Keeps the store in order. */
export interface Maintainer {
  sweep(options?: { readonly dryRun?: boolean }): Promise<SweepReceipt>
  /** Brings the search index up to date; returns how many messages were indexed. */
  indexSearch(): Promise<number>
  /** Drops the search index; the next search builds it anew. */
  rebuildSearch(): Promise<void>
  schemaVersion(): Promise<number>
}

/** Moves conversations between stores and files, losing nothing. */
export interface RecordMover {
  /** Everything stored of a conversation, in an order in which it can be written anew: itself; messages and tombstones
   *  by seq, each blob before the first message that refers to it; turns, drafts, summaries, events; branches and
   *  links. Reads in pages, so it takes little memory; what writers add meanwhile is left out. What cannot be read comes
   *  out as `unreadable`, and the rest goes on. Throws NotFoundError, also for what is being purged. */
  readRecords(id: ConversationId): AsyncIterable<StoreRecord | UnreadableRecord>
  /** Takes records in, in one transaction. Every hash is computed anew, and every parent must be there, or stand earlier in
   *  the list. What is there already (by id) is left alone, so that writing twice is writing once. A record that cannot be
   *  taken is refused with the reason, and the others go in; one that refers to a refused one is refused as well. */
  writeRecords(records: NonEmpty<StoreRecord>): Promise<RecordOutcomes>
}

/** Checks what is stored. */
export interface Verifier {
  /** Recomputes everything that can be recomputed, without the readers that others use, and reports what is not as it
   *  should be. What cannot be read is a finding and hides nothing else. Writers may go on meanwhile.
   *
   * @example
   * ```ts
   * import { openStore } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { branch } = await store.create()
   * await store.append(branch, null, [{ role: 'user', blocks: 'Keep this.' }])
   *
   * const { messages, damaged } = await store.verify({ onFinding: finding => console.error(finding) })
   * console.log(`${messages} message checked, ${damaged} conversations damaged`)
   * // 1 message checked, 0 conversations damaged
   * ```
   */
  verify(options?: VerifyOptions): Promise<Verified>
}

/** Says how much there is. */
export interface Meter {
  /** Counts, sizes and what was used, in sums that the engine makes; more closely since a time. */
  measure(since: Date): Promise<Measured>
}

/** Everything. Ask for less where less is needed. */
export interface Store
  extends ConversationReader,
    MessageReader,
    ConversationWriter,
    TurnWriter,
    Lister,
    Searcher,
    Deleter,
    RecordMover,
    Maintainer,
    Verifier,
    Meter {
  close(): Promise<void>
  /** The same, for `await using store = await openStore(…)`: closed on every way out. */
  [Symbol.asyncDispose](): Promise<void>
}
