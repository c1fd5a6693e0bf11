import type { ConversationId, MessageId } from './ids.ts'

/** Names a branch: the one thing an append needs to know of it. */
export interface BranchRef {
  readonly conversationId: ConversationId
  readonly name: string
}

/** A named pointer to a message. `main` comes with the conversation. */
export interface Branch extends BranchRef {
  readonly head: MessageId | null
  readonly key: string | null
  /** The key it had before it was trashed, reset or expired. */
  readonly formerKey: string | null
  readonly title: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A branch beside the others: where it leaves the oldest one, and how far it has gone since. */
export interface BranchInfo extends Branch {
  readonly active: boolean
  /** The last message shared with the conversation's oldest branch; null for that branch itself, or if nothing is shared. */
  readonly base: MessageId | null
  readonly messagesSinceBase: number
}

export interface NewBranch {
  readonly name: string
  readonly key?: string
  readonly title?: string
}

/** A foreign agent's own name for what it keeps of a branch. */
export interface AgentLink extends BranchRef {
  readonly agent: string
  readonly directory: string
  readonly foreignId: string
  /** The last message that agent is known to have. */
  readonly seen: MessageId | null
  readonly updatedAt: Date
}

export interface NewAgentLink {
  readonly agent: string
  readonly directory: string
  readonly foreignId: string
  readonly seen: MessageId | null
}
