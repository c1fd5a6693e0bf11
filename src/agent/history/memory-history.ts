import { messageOfDraft } from '../../core/draft.ts'
import type { Message, NewMessage } from '../../core/message.ts'
import type { DraftPiece } from '../../core/turn.ts'
import type { BeginTurn, TurnRecording, TurnReport } from '../../recorder/recording.ts'
import { type BegunTurn, type HistoryStore, type Target, targetName } from './history.ts'
import { localMessage } from './local-message.ts'

/** Keeps conversations in memory while the agent lives. Every conversation begins with `history`. */
export function memoryHistory(history: readonly NewMessage[] = []): HistoryStore {
  const conversations = new Map<string, Message[]>()
  const messagesOf = (target: Target): Message[] => {
    const name = targetName(target)
    const known = conversations.get(name) ?? []
    if (!conversations.has(name)) {
      for (const message of history) push(known, message)
      conversations.set(name, known)
    }
    return known
  }
  return {
    resolve: async target => ({ target, conversation: null, branch: null }),
    beginTurn: async ({ target }, options) => begunTurn(messagesOf(target), options),
  }
}

function push(messages: Message[], message: NewMessage): void {
  messages.push(localMessage(message, messages.at(-1), null))
}

function begunTurn(messages: Message[], options: BeginTurn): BegunTurn {
  const draft: Pick<DraftPiece, 'type' | 'text'>[] = []
  for (const message of options.words) push(messages, message)
  const recording: TurnRecording = {
    key: options.key ?? 'unrecorded',
    // Not used: `resolve` returns a null branch, and callers look at that first.
    branch: { conversationId: messages[0]?.conversationId as never, name: 'main' },
    forked: false,
    head: null,
    position: async () => ({ head: null, unsaved: [] }),
    draft: piece => void draft.push(piece),
    async add(added) {
      draft.length = 0
      for (const message of added) push(messages, message)
      return { ids: null }
    },
    trace: async () => undefined,
    async end(status): Promise<TurnReport> {
      const half = messageOfDraft(draft, status)
      if (half) push(messages, half)
      return { status, branch: recording.branch, head: null, saved: true, unsaved: [] }
    },
  }
  return {
    recording,
    read: async () => ({ messages: [...messages], older: 0, missing: 0, summary: null, uncovered: null }),
  }
}
