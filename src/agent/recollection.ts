import { type Message, textOf } from '../core/message.ts'
import type { History, Meeting } from './journal.ts'
import type { AgentStore } from './options.ts'
import { recallDigest } from './recall.ts'

/** What new conversations are told of earlier ones. */
export interface Recollection {
  /** System texts for a conversation whose beginning is still in sight: none, or one digest. */
  notesFor(meeting: Meeting, history: History): Promise<readonly string[]>
}

/** How many digests are kept in mind. */
const mostKept = 100

/** The digest belongs to the first words of a conversation: it is made once, and sent as long as they are. */
export function createRecollection(store: AgentStore): Recollection {
  const kept = new Map<string, Promise<string | null>>()
  return {
    async notesFor({ conversation }, { messages, older }) {
      const first = messages.find(message => message.role === 'user')
      if (!conversation || !first || older > 0) return []
      const digest = kept.get(conversation.id) ?? recall(conversation.id, first)
      return [await digest].filter(note => note !== null)
    },
  }

  function recall(id: NonNullable<Meeting['conversation']>['id'], first: Message): Promise<string | null> {
    const digest = recallDigest(store, textOf(first), { exclude: id })
    kept.set(id, digest)
    digest.catch(() => kept.delete(id))
    if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
    return digest
  }
}
