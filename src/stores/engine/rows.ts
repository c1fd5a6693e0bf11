/** The rows that statements return, the same from every engine: counts and times are numbers, flags are 0
 *  and 1, JSON is text. */

export type Conv = number | string

/** The fields of a conversation that a writer needs, read under its lock. */
export interface LockRow {
  readonly conv: Conv
  readonly id: string
  readonly title: string | null
  readonly active_branch: string
  readonly next_seq: number
  readonly next_event: number
  /** Every message with a lower seq is in the search index. */
  readonly indexed_seq: number
  readonly trashed_at: number | null
  /** 1 once a purge has begun. A purge cannot be undone. */
  readonly purging: number
}

export interface ConversationRow extends LockRow {
  readonly kind: string
  readonly model: string | null
  readonly label: string | null
  readonly channel: string | null
  readonly directory: string | null
  readonly project: string | null
  readonly task: string | null
  readonly owner: string | null
  readonly parent_id: string | null
  readonly parent_message: string | null
  readonly prompt_policy: string
  readonly prompt_hash: string | null
  readonly prompt_text: string | null
  readonly tool_results: string
  readonly metadata: string
  readonly messages: number
  readonly tokens: number
  readonly tokens_used: number
  readonly cost: number
  readonly version: number
  readonly created_at: number
  readonly updated_at: number
  readonly expires_at: number | null
  readonly ttl_ms: number | null
  /** How long an append after the expiry renews it, if it has no `ttl_ms`. */
  readonly renew_ms: number | null
  /** A JSON list, in order. */
  readonly tags: string
}

/** The fields of a conversation that readers see. */
export type ShownRow = Omit<
  ConversationRow,
  'conv' | 'next_seq' | 'next_event' | 'indexed_seq' | 'renew_ms' | 'purging'
>

/** A conversation in a list, with the visible fields of its active branch. */
export interface ListedRow extends ShownRow {
  readonly branch_head_id: string | null
  readonly branch_key: string | null
  readonly branch_former_key: string | null
  readonly branch_title: string | null
  /** Null if the branch is missing. */
  readonly branch_created_at: number | null
  readonly branch_updated_at: number | null
}

/** The position of a message in the tree. A branch stores that of its head. An empty branch has seq -1. */
export interface PositionRow {
  readonly seq: number
  readonly id: string | null
  readonly run: number
  readonly depth: number
  readonly path_tokens: number
}

export interface BranchRow {
  readonly name: string
  readonly head_seq: number
  readonly head_id: string | null
  readonly head_run: number
  readonly head_depth: number
  readonly head_path_tokens: number
  readonly key: string | null
  readonly former_key: string | null
  /** The key at the time when the conversation was trashed. */
  readonly trashed_key: string | null
  readonly title: string | null
  readonly created_at: number
  readonly updated_at: number
}

/** A branch, or nulls if there is none. */
export type MaybeBranchRow = { readonly [Column in keyof BranchRow]: BranchRow[Column] | null }

/** The head of a branch, as written. */
export type HeadFields = Pick<
  BranchRow,
  'head_seq' | 'head_id' | 'head_run' | 'head_depth' | 'head_path_tokens'
>

/** What an append reads before it writes, under the conversation's lock. */
export interface AppendRow extends HeadFields {
  readonly conv: Conv
  readonly name: string
  readonly next_seq: number
  readonly indexed_seq: number
  /** 1 if the conversation has a title. */
  readonly titled: number
  readonly trashed_at: number | null
  /** 1 if there is a turn with the given key. */
  readonly turn_known: number
  /** 1 if a turn is open on the branch. */
  readonly held: number
}

/** A message on a path. Its position follows from the messages before it. */
export interface PathRow {
  readonly id: string
  readonly seq: number
  readonly role: string
  readonly at: number
  readonly tokens: number
  readonly turn: number | null
  readonly step: number | null
  readonly label: string | null
  readonly body: string | null
  readonly erased: string | null
}

export interface MessageRow extends PathRow {
  readonly parent_seq: number
  readonly depth: number
  readonly path_tokens: number
}

/** A message of a path that was found by the id of its end. */
export interface ChainRow extends MessageRow {
  /** Only in the newest row, for all of them. */
  readonly conversation_id: string | null
  /** Only in the newest row: the depth of the end of the path. */
  readonly end_depth: number | null
}

/** A conversation with one of its branches, found by a key. */
export interface KeyedRow extends ListedRow {
  readonly branch_name: string
}

/** The columns of a message without its content. */
export interface MessageFields extends Omit<MessageRow, 'body' | 'erased'> {
  readonly conv: Conv
  readonly run: number
  /** In hex: a Buffer for each message would cost more than the engine's conversion. */
  readonly body_hash: string
}

/** A message with the ids of its conversation and its parent. */
export interface LooseMessageRow extends MessageRow {
  readonly conversation_id: string
  readonly parent_id: string | null
}

export interface LocatedRow extends PositionRow {
  readonly id: string
  readonly conv: Conv
  readonly conversation_id: string
  readonly parent_seq: number
  readonly turn: number | null
}

export interface TurnRow {
  readonly key: string
  readonly branch: string
  readonly first: number
  readonly last: number
  readonly last_step: number
  readonly status: string
  readonly model: string | null
  readonly prompt_hash: string | null
  readonly usage: string
  readonly holder: string | null
  readonly lease_until: number | null
  readonly started_at: number
  readonly ended_at: number | null
}

export interface SummaryRow {
  readonly last_seq: number
  readonly first_seq: number
  readonly last_id: string
  readonly first_id: string
  readonly model: string | null
  readonly tokens: number | null
  readonly text: string | null
  readonly checksum: string | null
  readonly holder: string | null
  readonly lease_until: number | null
  readonly created_at: number
}

export interface LinkRow {
  readonly branch: string
  readonly agent: string
  readonly directory: string
  readonly foreign_id: string
  readonly seen_id: string | null
  readonly updated_at: number
}

/** A conversation with messages that are not in the search index: those from `indexed_seq` on. */
export interface UnindexedRow {
  readonly conv: Conv
  readonly indexed_seq: number
  readonly next_seq: number
}

export interface UnindexedNewestRow extends UnindexedRow {
  readonly updated_at: number
  readonly directory: string | null
  readonly kind: string
}

/** Messages of a conversation, by seq, both ends included. */
export interface MessageSpan {
  readonly conv: Conv
  readonly lo: number
  readonly hi: number
}

/** How far a conversation is indexed: before, and from now on. */
export interface IndexMark {
  readonly conv: Conv
  readonly seq_from: number
  readonly seq_to: number
}

/** A message to index, or to search without the index. */
export interface SpanRow extends CandidateRow {
  readonly role: string
}

/** A candidate for a search: its content and its sort order. */
export interface CandidateRow {
  readonly conv: Conv
  readonly conversation_id: string
  readonly seq: number
  readonly at: number
  readonly body: string | null
}

/** A search result, with fields of its conversation. */
export interface FoundRow extends LooseMessageRow {
  readonly conv: Conv
  readonly title: string | null
  readonly kind: string
  readonly directory: string | null
  readonly channel: string | null
}

/** The columns of a conversation that callers may set. */
export interface ConversationFields {
  readonly title: string | null
  readonly title_folded: string | null
  readonly model: string | null
  readonly label: string | null
  readonly channel: string | null
  readonly directory: string | null
  readonly project: string | null
  readonly task: string | null
  readonly owner: string | null
  readonly prompt_policy: string
  readonly prompt_hash: string | null
  readonly tool_results: string
  readonly metadata: string
  readonly expires_at: number | null
  readonly ttl_ms: number | null
  readonly renew_ms: number | null
  /** A JSON list, in order. */
  readonly tags: string
}

/** A token without its hash. */
export interface TokenRow {
  readonly tenant: string
  readonly id: string
  readonly name: string
  /** A JSON list. */
  readonly scopes: string
  readonly created_at: number
  readonly expires_at: number | null
  readonly revoked_at: number | null
}

export interface EventRow {
  readonly n: number
  readonly type: string
  readonly at: number
  readonly data: string
}

/** A conversation in a list, with what is not in its own row. */
export interface OverviewRow {
  readonly id: string
  readonly branches: number
  /** The first message of a user, or null. */
  readonly first_id: string | null
  readonly agent: string | null
}

/** A turn with the id of its conversation. */
export interface ConversationTurnRow extends TurnRow {
  readonly conversation_id: string
}
