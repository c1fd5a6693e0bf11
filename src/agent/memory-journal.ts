import { messageOfDraft } from '../core/draft.ts'
import type { Message, NewMessage } from '../core/message.ts'
import type { DraftPiece } from '../core/turn.ts'
import type { BeginTurn, TurnRecording, TurnReport } from '../recorder/recording.ts'
import { isBranch, type Journal, type Opened, type Target } from './journal.ts'
import { localMessage } from './local-message.ts'

/** Keeps what is said for as long as the agent lives. `history` is what every conversation begins with. */
export function memoryJournal(history: readonly NewMessage[] = []): Journal {
  const talks = new Map<string, Message[]>()
  const talkOf = (target: Target): Message[] => {
    const name = targetName(target)
    const known = talks.get(name) ?? []
    if (!talks.has(name)) {
      for (const message of history) push(known, message)
      talks.set(name, known)
    }
    return known
  }
  return {
    meet: async target => ({ target, conversation: null, branch: null }),
    begin: async ({ target }, options) => open(talkOf(target), options),
  }
}

/** One name for one conversation, however it was addressed. */
export function targetName(target: Target): string {
  if (typeof target === 'string') return target
  return isBranch(target) ? `${target.conversationId}:${target.name}` : target.key
}

function push(talk: Message[], message: NewMessage): void {
  talk.push(localMessage(message, talk.at(-1), null))
}

function open(talk: Message[], options: BeginTurn): Opened {
  const draft: Pick<DraftPiece, 'type' | 'text'>[] = []
  for (const message of options.words) push(talk, message)
  const recording: TurnRecording = {
    key: options.key ?? 'unrecorded',
    // Nobody asks a recording in memory where it is: `meet` has said that it is nowhere.
    branch: { conversationId: talk[0]?.conversationId as never, name: 'main' },
    forked: false,
    head: null,
    position: async () => ({ head: null, unsaved: [] }),
    draft: piece => void draft.push(piece),
    async add(messages) {
      draft.length = 0
      for (const message of messages) push(talk, message)
      return { ids: null }
    },
    trace: async () => undefined,
    async end(status): Promise<TurnReport> {
      const half = messageOfDraft(draft, status)
      if (half) push(talk, half)
      return { status, branch: recording.branch, head: null, saved: true, unsaved: [] }
    },
  }
  return {
    recording,
    read: async () => ({ messages: [...talk], older: 0, missing: 0, summary: null, uncovered: null }),
  }
}
