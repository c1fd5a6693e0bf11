import { NotFoundError } from '../core/errors.ts'
import type { BranchInConversation, ConversationReader, ConversationWriter } from '../core/ports.ts'
import type { Dispatch, Task } from '../core/task.ts'

/** How long the conversation of a task is continued. */
export interface TaskExpiry {
  /** Default: 24 hours. */
  readonly afterMs?: number
  /** Since the last activity (default), or since the conversation was created. */
  readonly from?: 'activity' | 'creation'
}

/** The store of the conversations of tasks. */
export type TaskConversations = Pick<ConversationReader, 'getConversation' | 'getBranch'> &
  Pick<ConversationWriter, 'findOrCreateByTask'>

const dayMs = 86_400_000

/** The conversation of a task. A dispatch that ran before continues in the conversation that it began in;
 *  otherwise the newest one that has not expired is continued, or a new one is created. */
export async function taskConversation(
  store: TaskConversations,
  task: Task,
  dispatch: Dispatch,
  facts: { readonly metadata: object; readonly expiry: TaskExpiry; readonly now: number },
): Promise<BranchInConversation> {
  const begun = dispatch.conversationId === null ? null : await find(store, dispatch.conversationId)
  if (begun) return begun
  const { afterMs = dayMs, from = 'activity' } = facts.expiry
  const expiry = from === 'activity' ? { ttlMs: afterMs } : { expiresAt: new Date(facts.now + afterMs) }
  // The earlier conversation has expired, if a new one is created.
  const previous = task.conversationId === null ? {} : { previous_conversation: task.conversationId }
  return store.findOrCreateByTask(task.id, {
    ...(task.project === null ? {} : { project: task.project }),
    ...expiry,
    metadata: { ...facts.metadata, ...previous },
  })
}

/** Null if the conversation was deleted. */
async function find(store: TaskConversations, id: string): Promise<BranchInConversation | null> {
  try {
    const conversation = await store.getConversation(id)
    if (conversation.trashedAt !== null) return null
    const branch = await store.getBranch({ conversationId: conversation.id, name: conversation.activeBranch })
    return { conversation, branch }
  } catch (error) {
    if (error instanceof NotFoundError) return null
    throw error
  }
}
