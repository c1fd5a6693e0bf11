import type { ConversationId, MessageId } from './ids.ts'

/** Identifies a branch. */
export interface BranchRef {
  /** The conversation of the branch. */
  readonly conversationId: ConversationId
  /** Unique in its conversation, 1 to 512 bytes. */
  readonly name: string
}

/** A named pointer to a message. Every conversation starts with the branch `main`. */
export interface Branch extends BranchRef {
  /** The newest message of the branch. Null before the first one. */
  readonly head: MessageId | null
  /** A caller's stable name for the branch, such as `cli:default`, unique in the store. Null if it has
   *  none. */
  readonly key: string | null
  /** The key of the branch before it was trashed, reset or expired. */
  readonly formerKey: string | null
  /** A title of the branch's own, or null. The conversation has another one. */
  readonly title: string | null
  /** When the branch was created. */
  readonly createdAt: Date
  /** When its head last moved. */
  readonly updatedAt: Date
}

/** A branch in relation to the conversation's oldest branch. */
export interface BranchInfo extends Branch {
  /** True for the branch of callers that name none. */
  readonly active: boolean
  /** The last message shared with the conversation's oldest branch. Null for that branch itself, or if
   *  nothing is shared. */
  readonly base: MessageId | null
  /** Messages of its path after `base`. */
  readonly messagesSinceBase: number
}

/** The name of a new branch, and what else a caller may set. */
export interface NewBranch {
  /** Must be free in the conversation, otherwise KeyReusedError is thrown. */
  readonly name: string
  /** Must be free in the store. Default: none. */
  readonly key?: string
  /** Default: none. */
  readonly title?: string
}

/** A foreign agent's own id for its copy of a branch. */
export interface AgentLink extends BranchRef {
  /** The name of the agent, such as `claude-code`. */
  readonly agent: string
  /** The working directory that the agent ran in. One agent has one link per directory. */
  readonly directory: string
  /** The id that the agent itself uses. */
  readonly foreignId: string
  /** The last message that the agent is known to have. */
  readonly seen: MessageId | null
  /** When the link was last set. */
  readonly updatedAt: Date
}

/** A link to set. It replaces the link of the same agent and directory. */
export interface NewAgentLink {
  /** The name of the agent, such as `claude-code`. */
  readonly agent: string
  /** The working directory that the agent runs in. */
  readonly directory: string
  /** The id that the agent itself uses. */
  readonly foreignId: string
  /** The last message that the agent is known to have, or null. */
  readonly seen: MessageId | null
}
