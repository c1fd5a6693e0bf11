import type { ConversationId } from '../core/ids.ts'
import { type Message, textOf } from '../core/message.ts'
import type { AgentEvent } from './events.ts'
import type { History, Meeting } from './journal.ts'
import type { AgentStore } from './options.ts'
import { recallDigest } from './recall.ts'

/** What new conversations are told of earlier ones. */
export interface Recollection {
  /** System texts for a conversation whose beginning is still in sight: none, or one digest. */
  notesFor(meeting: Meeting, history: History, emit: (event: AgentEvent) => void): Promise<readonly string[]>
}

/** How many digests are kept in mind. */
const mostKept = 100

/** The digest belongs to the first words of a conversation: it is made once, and sent as long as they are. */
export function createRecollection(store: AgentStore): Recollection {
  const kept = new Map<ConversationId, string | null>()
  return {
    async notesFor({ conversation }, { messages, older }, emit) {
      const first = messages.find(message => message.role === 'user')
      if (!conversation || !first || older > 0) return []
      try {
        if (!kept.has(conversation.id)) keep(conversation.id, await recall(conversation.id, first))
      } catch (error) {
        // Not to remember is better than not to answer.
        emit({ type: 'recalled', outcome: 'failed', error })
        return []
      }
      const digest = kept.get(conversation.id) ?? null
      emit({ type: 'recalled', outcome: digest === null ? 'nothing' : 'found' })
      return digest === null ? [] : [digest]
    },
  }

  /** Only of what had been said by then: made anew after a restart, it is the same. */
  function recall(id: ConversationId, first: Message): Promise<string | null> {
    return recallDigest(store, textOf(first), { exclude: id, before: first.createdAt })
  }

  function keep(id: ConversationId, digest: string | null): void {
    kept.set(id, digest)
    if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
  }
}
