import type { input } from 'zod'
import type { ConversationJson } from '../api/conversation.ts'
import type { MessageJson } from '../api/message.ts'
import type { importedSchema, JsonOf } from '../api/schema/index.ts'
import type {
  answerApprovalSchema,
  appendSchema,
  askSchema,
  branchPatchSchema,
  conversationPatchSchema,
  dispatchRequestSchema,
  forkSchema,
  listApprovalsQuery,
  newConversationSchema,
  newTaskSchema,
} from '../api/schema/request/index.ts'
import type { DispatchJson, TaskJson } from '../api/task.ts'
import type { TurnJson } from '../api/turn.ts'

/** Options of every request. */
export interface RequestOptions {
  /** Ends the request. */
  readonly signal?: AbortSignal
}

/** Options of a request that writes. */
export interface WriteOptions extends RequestOptions {
  /** Names the write, so that a retry is answered from the store. Default: a random key. */
  readonly idempotencyKey?: string
}

/** A conversation to create. */
export type NewConversationRequest = Readonly<input<typeof newConversationSchema>>

/** A change of a conversation. */
export type PatchConversationRequest = Readonly<input<typeof conversationPatchSchema>>

/** Messages to append. */
export type AppendBody = Readonly<input<typeof appendSchema>>

/** A prompt for a model. */
export type AskRequest = Readonly<input<typeof askSchema>>

/** Which approvals to list. */
export type ListApprovalsRequest = Readonly<input<typeof listApprovalsQuery>>

/** An answer to an approval. */
export type AnswerApprovalRequest = Readonly<input<typeof answerApprovalSchema>>

/** A branch to create. */
export type ForkRequest = Readonly<input<typeof forkSchema>>

/** A change of a branch. */
export type BranchPatchRequest = Readonly<input<typeof branchPatchSchema>>

/** A task to submit. */
export type NewTaskRequest = Readonly<input<typeof newTaskSchema>>

/** An order to work on a task. */
export type DispatchRequest = Readonly<input<typeof dispatchRequestSchema>>

/** Options of a request for one task. */
export interface TaskRequestOptions extends RequestOptions {
  /** The project that the task must belong to. Default: any. */
  readonly project?: string
}

/** A task with the dispatch that is queued or runs, or its last one. */
export type ShownTaskJson = TaskJson & {
  /** That dispatch. */
  readonly run: DispatchJson
}

/** The result of an import. */
export type ImportedJson = JsonOf<typeof importedSchema>

/** Which page of a list. */
export interface PageParameters {
  /** Most items. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
}

/** Filters of a list of conversations. An empty text asks for conversations without a value. */
export interface ListConversationsRequest extends PageParameters {
  /** Only of this channel. */
  readonly channel?: string
  /** Only of this directory, or of one of these. */
  readonly directory?: string | readonly string[]
  /** Only of this project. */
  readonly project?: string
  /** Only of this task. */
  readonly task?: string
  /** Default: both kinds. */
  readonly kind?: 'main' | 'subagent'
  /** Only with a branch whose key begins with this text. */
  readonly key_prefix?: string
  /** Only with a label that begins with this text. */
  readonly label_prefix?: string
  /** Only with this tag. */
  readonly tag?: string
  /** Text within the title. */
  readonly title?: string
  /** Subagents that were started from this conversation. */
  readonly parent?: string
  /** Only with activity at this time or later. */
  readonly updated_from?: string
  /** Only with the last activity before this time. */
  readonly updated_before?: string
  /** Lists the trash. */
  readonly trashed?: boolean
  /** Metadata fields with these values. */
  readonly [metadata: `metadata.${string}`]: string | number | boolean
}

/** Filters of a list of tasks. */
export interface ListTasksRequest extends PageParameters {
  /** Only of this project. */
  readonly project?: string
  /** Only in this state. */
  readonly status?: TaskJson['status']
  /** Only submitted at this time or later. */
  readonly created_from?: string
  /** Only submitted before this time. */
  readonly created_before?: string
}

/** Which part of a path to read. */
export interface SectionRequest {
  /** The path of this branch. Default: the active one. */
  readonly branch?: string
  /** The path that ends with this message. */
  readonly at?: string
  /** The depth of the first message. */
  readonly from?: number
  /** The depth behind the last message. */
  readonly before?: number
  /** Most messages. Default: 100. */
  readonly limit?: number
  /** `preview` returns the beginning of large parts. */
  readonly blobs?: 'whole' | 'preview'
}

/** Which messages of all branches to list. */
export interface ListMessagesRequest extends PageParameters {
  /** Default: `descending`, newest first. */
  readonly order?: 'ascending' | 'descending'
  /** Only these roles. */
  readonly roles?: readonly MessageJson['role'][]
  /** Only with this label. */
  readonly label?: string
  /** With `ascending`: only messages with a higher seq. */
  readonly after_seq?: number
  /** `preview` returns the beginning of large parts. */
  readonly blobs?: 'whole' | 'preview'
}

/** Where and how to search. */
export interface SearchRequest extends PageParameters {
  /** Default: `newest`. */
  readonly order?: 'newest' | 'ranked'
  /** Length of the snippets, in characters. */
  readonly snippet_length?: number
  /** Only of this directory, or of one of these. */
  readonly directory?: string | readonly string[]
  /** Default: both kinds. */
  readonly kind?: 'main' | 'subagent'
}

/** The branch with a key, and its conversation. */
export interface FoundConversation {
  /** True if the conversation is new. */
  readonly created: boolean
  /** The branch with the key. */
  readonly branch: string
  /** Its conversation. */
  readonly conversation: ConversationJson
}

/** Consecutive messages of a path. */
export interface PathSectionJson {
  /** In order of depth. */
  readonly items: readonly MessageJson[]
  /** The number of messages on the whole path. */
  readonly path_messages: number
  /** The turns of the messages. */
  readonly turns: readonly TurnJson[]
  /** When tools ran, as far as they were traced. */
  readonly tool_times: readonly {
    readonly message: string | null
    readonly call_id: string
    readonly started_at: string
    readonly ended_at: string | null
  }[]
}

/** The effects of deleting or erasing messages. */
export interface RemovedJson {
  /** Always true. */
  readonly success: true
  /** For people. */
  readonly message: string
  /** How many messages were removed. */
  readonly messages: number
  /** Where the content may still be. */
  readonly remains: readonly string[]
}
