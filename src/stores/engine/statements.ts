import type { ListFilter, ListParams } from './list-params.ts'
import type {
  AppendRow,
  BranchRow,
  ChainRow,
  Conv,
  ConversationFields,
  ConversationRow,
  HeadFields,
  KeyedRow,
  LinkRow,
  ListedRow,
  LocatedRow,
  LockRow,
  LooseMessageRow,
  MaybeBranchRow,
  MessageFields,
  PositionRow,
  SummaryRow,
  TurnRow,
} from './rows.ts'
import type { BlobStatements } from './statements-blobs.ts'
import type { EventStatements, FollowStatements } from './statements-events.ts'
import type { OverviewStatements } from './statements-overview.ts'
import type { RecordStatements } from './statements-records.ts'
import type { SearchStatements } from './statements-search.ts'
import type { StructureStatements } from './statements-structure.ts'
import type { TailStatements } from './statements-tails.ts'
import type { TaskStatements } from './statements-tasks.ts'
import type { TokenStatements } from './statements-tokens.ts'
import type { VerifyStatements } from './statements-verify.ts'

/** The statements between the programs and a driver: their parameters and rows. A driver implements each
 *  name in the SQL of its dialect (`queries/`). Everything else is written once, in `programs/`. The id of
 *  a conversation inside an engine (`conv`) is opaque to programs: a number in SQLite, a UUID in
 *  PostgreSQL. */

interface InConv {
  readonly conv: Conv
}
interface OnBranch extends InConv {
  readonly name: string
}
interface AtSeq extends InConv {
  readonly seq: number
}
interface SeqSpan extends InConv {
  readonly lo: number
  readonly hi: number
}

type None = Readonly<Record<never, never>>

interface TurnPage extends InConv {
  readonly above: number
  readonly below: number
  readonly limit: number
}

/** Name → [parameters, row]. A statement that returns nothing has the row `never`. */
export interface Statements
  extends BlobStatements,
    EventStatements,
    FollowStatements,
    OverviewStatements,
    RecordStatements,
    SearchStatements,
    StructureStatements,
    TailStatements,
    TaskStatements,
    TokenStatements,
    VerifyStatements {
  // Conversations
  conversationById: [{ id: string }, ConversationRow]
  /** Locks the conversation until the transaction ends. */
  lockConversation: [{ id: string }, LockRow]
  versionById: [{ id: string }, { version: number }]
  /** The inner key of a conversation. An engine whose inner keys are the ids may answer before it has looked;
   *  NotFoundError is thrown with the next statement then. */
  convOf: [{ id: string }, { conv: Conv }]
  /** Inserts a conversation with its branch `main`. Without effect and rows if the id is taken, or if another
   *  branch has the key. */
  insertConversation: [
    ConversationFields &
      HeadFields & {
        id: string
        kind: string
        parent_id: string | null
        parent_message: string | null
        key: string | null
        now: number
      },
    { conv: Conv },
  ]
  updateConversation: [ConversationFields & InConv & { now: number }, never]
  /** Increments the version. */
  bumpVersion: [InConv, never]
  setActiveBranch: [InConv & { name: string }, never]
  clearPrompt: [InConv, never]
  putPrompt: [{ hash: string; text: string }, never]
  clearTags: [InConv, never]
  putTag: [InConv & { tag: string }, never]
  clearMetadata: [InConv, never]
  putMetadata: [InConv & { key: string; value: string }, never]
  conversationByKey: [{ key: string }, { id: string; name: string; expires_at: number | null }]
  foundByKey: [{ key: string }, KeyedRow]
  /** A conversation with one of its branches. Without a name: the active one. */
  branchInConversation: [{ id: string; name: string | null }, ListedRow]
  /** Makes other callers with the same task wait until the end of the transaction. */
  lockTask: [{ task: string; project: string | null }, never]
  conversationByTask: [{ task: string; project: string | null; now: number }, { id: string }]
  conversationByLink: [{ agent: string; foreign_id: string }, { id: string; name: string }]
  /** Ids from `lo` up to `hi`, exclusive. Eleven at most. */
  conversationsByPrefix: [{ lo: string; hi: string }, { id: string }]
  listConversations: [ListParams, ListedRow]
  countConversations: [ListParams, { count: number }]
  /** The conversations of a list, in any order, without their columns. */
  scopeConversations: [ListParams, { conv: Conv }]
  /** The distinct directories, in order. */
  listDirectories: [ListParams, { directory: string }]

  // Branches
  branch: [OnBranch, BranchRow]
  /** A branch of a conversation; all columns are null if only the conversation exists. */
  branchOf: [{ id: string; name: string }, MaybeBranchRow]
  branches: [InConv, BranchRow]
  /** The branches after one of them: by creation, `main` before others of the same time, then by name. */
  listBranches: [InConv & { created_at: number; not_main: number; name: string; limit: number }, BranchRow]
  /** Writes nothing if the name is taken. */
  insertBranch: [OnBranch & HeadFields & { key: string | null; title: string | null; now: number }, never]
  setHead: [OnBranch & HeadFields & { now: number }, never]
  renameBranch: [OnBranch & { to: string }, never]
  renameInLinks: [OnBranch & { to: string }, never]
  renameInTurns: [OnBranch & { to: string }, never]
  deleteBranch: [OnBranch, never]
  setBranchKey: [OnBranch & Pick<BranchRow, 'key' | 'former_key' | 'trashed_key'>, never]
  links: [OnBranch, LinkRow]
  listLinks: [OnBranch & { agent: string; directory: string; limit: number }, LinkRow]
  putLink: [
    OnBranch & {
      agent: string
      directory: string
      foreign_id: string
      seen_seq: number | null
      seen_id: string | null
      now: number
    },
    never,
  ]
  deleteLink: [OnBranch & { agent: string; directory: string }, never]
  deleteLinks: [OnBranch, never]
  /** Clears the seen messages of agents within a range that is being deleted. */
  clearSeen: [SeqSpan, never]
  /** Creates a branch at a message and locks the conversation. Writes nothing if the conversation is
   *  missing or in the trash, if it has no such message, or if the name is taken. */
  insertFork: [{ id: string; name: string; at: string; title: string | null; now: number }, never]
  bumpVersionOf: [{ id: string }, never]

  // Messages
  lockBranch: [{ id: string; name: string; turn: string | null }, AppendRow]
  /** Writes no row if the id is taken. */
  insertMessage: [MessageFields & { body: string }, never]
  /** Updates counters, times, title, expiry and version after messages were stored. */
  grow: [
    InConv & {
      next_seq: number
      added: number
      tokens: number
      tokens_used: number
      cost: number
      title: string | null
      title_folded: string | null
      now: number
    },
    never,
  ]
  /** The same for a conversation whose messages are all in the search index: an engine may have to record
   *  that this is no longer true. */
  growIndexed: Statements['grow']
  /** Adds the usage of a turn that ended without a message. */
  charge: [InConv & { tokens_used: number; cost: number }, never]
  locate: [{ id: string }, LocatedRow]
  placesAt: [InConv & { seqs: readonly number[] }, PositionRow & { id: string }]
  messagesByIds: [{ ids: readonly string[] }, LooseMessageRow]
  /** The messages of the path to `id` at these depths, in any order. */
  path: [{ id: string; from: number; to: number }, ChainRow]
  /** The runs of a path, newest first. */
  pathRuns: [AtSeq, { lo: number; hi: number }]
  messagesBetween: [SeqSpan & { limit: number }, LooseMessageRow]
  idsBetween: [SeqSpan, { seq: number; id: string }]
  listMessages: [
    {
      id: string
      /** Exclusive bounds. */
      above: number
      below: number
      roles: readonly string[] | null
      label: string | null
      limit: number
      offset: number
    },
    LooseMessageRow,
  ]
  listMessagesDown: Statements['listMessages']
  messagesByPrefix: [{ lo: string; hi: string }, { id: string; conversation_id: string }]
  setLabel: [AtSeq & { label: string | null }, never]
  children: [AtSeq, { seq: number }]

  // Turns and drafts
  turn: [InConv & { key: string }, TurnRow]
  /** The turns that begin between two seqs, both excluded. */
  listTurns: [TurnPage & { status: string | null }, TurnRow]
  listTurnsDown: Statements['listTurns']
  /** Those of one status, interrupted or failed. */
  listStoppedTurns: [TurnPage & { status: 'interrupted' | 'failed' }, TurnRow]
  listStoppedTurnsDown: Statements['listStoppedTurns']
  listOpenTurns: [TurnPage, TurnRow]
  listOpenTurnsDown: [TurnPage, TurnRow]
  /** Uses no index but the primary key, so that a damaged index hides no turn. */
  turnsByKey: [InConv & { after: string; limit: number }, TurnRow]
  /** A conversation has few open turns, however many have ended. */
  openTurns: [InConv, TurnRow]
  openTurnOn: [OnBranch, TurnRow]
  stepMessages: [
    InConv & { first: number; last: number; step: number },
    { seq: number; id: string; role: string; body_hash: Uint8Array },
  ]
  insertTurn: [
    InConv & Omit<TurnRow, 'started_at' | 'ended_at'> & { now: number; ended_at: number | null },
    never,
  ]
  updateTurn: [
    InConv &
      Pick<
        TurnRow,
        | 'key'
        | 'last'
        | 'last_step'
        | 'status'
        | 'model'
        | 'prompt_hash'
        | 'usage'
        | 'lease_until'
        | 'ended_at'
      >,
    never,
  ]
  renewTurn: [InConv & { key: string; lease_until: number }, never]
  /** The turn whose last message has this seq. */
  turnEndingAt: [OnBranch & { seq: number }, TurnRow]
  reopenTurn: [InConv & { key: string; holder: string; lease_until: number }, never]
  drafts: [InConv & { turn: string }, { n: number; type: string; text: string }]
  draftsAfter: [
    InConv & { turn: string; after: number; limit: number },
    { n: number; type: string; text: string },
  ]
  lastDraft: [InConv & { turn: string }, { n: number }]
  insertDraft: [InConv & { turn: string; n: number; type: string; text: string }, never]
  deleteDrafts: [InConv & { turn: string }, never]

  // Summaries and events
  summary: [InConv & { first_seq: number; last_seq: number }, SummaryRow]
  /** Finished summaries and claimed, unfinished ones. */
  summaries: [InConv, SummaryRow]
  /** Finished summaries after a range, or before it. */
  listSummaries: [InConv & { last_seq: number; first_seq: number; limit: number }, SummaryRow]
  listSummariesDown: [InConv & { last_seq: number; first_seq: number; limit: number }, SummaryRow]
  claimSummary: [
    InConv & {
      first_seq: number
      last_seq: number
      first_id: string
      last_id: string
      holder: string
      lease_until: number
      now: number
    },
    never,
  ]
  putSummary: [
    InConv & {
      first_seq: number
      last_seq: number
      model: string | null
      tokens: number
      text: string
      checksum: string
      now: number
    },
    never,
  ]
  deleteSummary: [InConv & { first_seq: number; last_seq: number }, never]
  /** Removes the summaries that end in a range. A summary cannot only begin there. */
  deleteSummaries: [SeqSpan, never]

  // Deleting
  spanFacts: [SeqSpan, { count: number; tokens: number }]
  buryMessages: [SeqSpan & { now: number; reason: string | null }, never]
  deleteMessages: [SeqSpan, never]
  shrink: [InConv & { removed: number; tokens: number }, never]
  eraseMessage: [AtSeq & { erased: string }, never]
  clearTitle: [InConv & { title: string }, never]
  setTrashed: [InConv & { now: number }, never]
  /** Takes a conversation out of the trash and renews it if it has expired. */
  setRestored: [InConv & { now: number }, never]
  beginPurge: [InConv, never]
  /** Tables that may have many rows of one conversation. A purge empties them in pieces. */
  deleteSomeTurns: [InConv & { limit: number }, never]
  deleteSomeTombstones: [InConv & { limit: number }, never]
  deleteSomeEvents: [InConv & { limit: number }, never]
  deleteConversation: [InConv, never]
  /** The prompts that no conversation refers to. Waits for writers that are about to refer to one. */
  loosePrompts: [None, { hash: string }]
  /** Removes those of the prompts that no conversation refers to. */
  deleteLoosePrompts: [{ hashes: readonly string[] }, never]

  // Sweeping
  state: [{ name: string }, { value: number }]
  putState: [{ name: string; value: number }, never]
  /** Writes only if the value is the expected one, or null if there is none. */
  replaceState: [{ name: string; value: number; expected: number | null }, never]
  expiredTasks: [
    { now: number; limit: number; at: number; position: string },
    { id: string; at: number; position: string },
  ]
  countSweep: [{ now: number }, never]
  /** Conversations that have been in the trash long enough, or whose purge has begun. */
  purgeable: [
    { before: number; sweeps: number; limit: number; at: number; position: string },
    { id: string; at: number; position: string },
  ]

  // Measuring: sums computed by the engine
  counted: [
    { since: number },
    {
      conversations: number
      messages: number
      recent_conversations: number
      recent_messages: number
      trashed: number
    },
  ]
  /** Of the turns after one turn up to another, in the order of conversations and keys. Null is the
   *  beginning or the end. */
  usageSums: [
    { since: number; conv: Conv | null; key: string | null; last_conv: Conv | null; last_key: string | null },
    {
      model: string | null
      quarter: number | null
      turns: number
      input: number
      output: number
      cost: number
      uncosted: number
    },
  ]
  /** The bytes of some messages of a conversation, blobs included. */
  contentBytes: [{ conv: Conv; lo: number; hi: number }, { bytes: number }]
  blobSum: [None, { count: number; bytes: number }]
  /** The turn that follows after `skip` others. */
  turnAfter: [{ conv: Conv | null; key: string | null; skip: number }, { conv: Conv; key: string }]
  sizes: [None, { name: string; bytes: number }]
  /** The bytes of some blocks of the search index, and the last of these blocks. No row if `sizes` has
   *  them. */
  indexBytes: [{ after: number | null; limit: number }, { bytes: number; last: number | null }]
}

export type StatementName = keyof Statements
export type ParamsOf<N extends StatementName> = Statements[N][0]
export type RowOf<N extends StatementName> = Statements[N][1]

/** The SQL of a dialect: a text for each statement, or a function of the filters for lists. Several texts
 *  run in order. Both dialects write parameters as `@name`. */
export type Queries = {
  readonly [N in StatementName]: N extends
    | 'listConversations'
    | 'countConversations'
    | 'scopeConversations'
    | 'scopedCandidates'
    | 'listDirectories'
    ? (filters: readonly ListFilter[]) => string
    : string | readonly string[]
}
