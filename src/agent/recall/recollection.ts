import type { Conversation } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import { type Message, textOf } from '../../core/message.ts'
import type { AgentEvent } from '../run/events.ts'
import { type RecallStore, recallDigest } from './recall-digest.ts'

/** Digests of earlier conversations for new ones. */
export interface Recollection {
  /** System texts for a conversation whose first message is in the context: none, or one digest. */
  notesFor(
    conversation: Conversation | null,
    history: { readonly messages: readonly Message[]; readonly older: number },
    emit: (event: AgentEvent) => void,
  ): Promise<readonly string[]>
}

/** Most digests in memory. */
const mostKept = 100

/** The digest belongs to the first message of a conversation: it is made once, and sent while that message
 *  is. It is about the query, or else about that message. */
export function createRecollection(store: RecallStore, query: string | null = null): Recollection {
  const kept = new Map<ConversationId, string | null>()
  return {
    async notesFor(conversation, { messages, older }, emit) {
      const first = messages.find(message => message.role === 'user')
      if (!conversation || !first || older > 0) return []
      try {
        if (!kept.has(conversation.id)) keep(conversation.id, await recall(conversation.id, first))
      } catch (error) {
        // A failed search must not prevent the answer.
        emit({ type: 'recalled', outcome: 'failed', error })
        return []
      }
      const digest = kept.get(conversation.id) ?? null
      emit({ type: 'recalled', outcome: digest === null ? 'nothing' : 'found' })
      return digest === null ? [] : [digest]
    },
  }

  /** Searches only messages before the first one, so that the digest is the same after a restart. */
  function recall(id: ConversationId, first: Message): Promise<string | null> {
    return recallDigest(store, query ?? textOf(first), { exclude: id, before: first.createdAt })
  }

  function keep(id: ConversationId, digest: string | null): void {
    kept.set(id, digest)
    if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
  }
}
