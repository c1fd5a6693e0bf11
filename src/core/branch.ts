import type { ConversationId, MessageId } from './ids.ts'

/** Identifies a branch. */
export interface BranchRef {
  readonly conversationId: ConversationId
  readonly name: string
}

/** A named pointer to a message. Every conversation starts with the branch `main`. */
export interface Branch extends BranchRef {
  readonly head: MessageId | null
  readonly key: string | null
  /** The key of the branch before it was trashed, reset or expired. */
  readonly formerKey: string | null
  readonly title: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A branch in relation to the conversation's oldest branch. */
export interface BranchInfo extends Branch {
  readonly active: boolean
  /** The last message shared with the conversation's oldest branch. Null for that branch itself, or if
   *  nothing is shared. */
  readonly base: MessageId | null
  readonly messagesSinceBase: number
}

export interface NewBranch {
  readonly name: string
  readonly key?: string
  readonly title?: string
}

/** A foreign agent's own id for its copy of a branch. */
export interface AgentLink extends BranchRef {
  readonly agent: string
  readonly directory: string
  readonly foreignId: string
  /** The last message that the agent is known to have. */
  readonly seen: MessageId | null
  readonly updatedAt: Date
}

export interface NewAgentLink {
  readonly agent: string
  readonly directory: string
  readonly foreignId: string
  readonly seen: MessageId | null
}
