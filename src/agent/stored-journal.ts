import { readHistory } from '../context/read-context.ts'
import type { Message, NewMessage } from '../core/message.ts'
import { beginTurn } from '../recorder/begin-turn.ts'
import type { RecordStore, TurnRecording } from '../recorder/recording.ts'
import { isBranch, type Journal, type Meeting, type Opened, type Target } from './journal.ts'
import { localMessage } from './local-message.ts'

/** Keeps what is said in a store. `prompt` is what a new conversation is told to have begun with. */
export function storedJournal(store: RecordStore, prompt: string | null): Journal {
  return {
    meet: target => meet(store, target, prompt),
    async begin(meeting, options) {
      let waiting = options.mode === 'at_once'
      const recording = await beginTurn(store, meeting.branch!, {
        ...options,
        onTrouble(trouble) {
          if (trouble.kind === 'unsaved') waiting = true
          options.onTrouble?.(trouble)
        },
      })
      return opened(store, recording, waiting ? options.words : [])
    },
  }
}

async function meet(store: RecordStore, target: Target, prompt: string | null): Promise<Meeting> {
  if (isBranch(target)) {
    const [conversation, branch] = await Promise.all([
      store.getConversation(target.conversationId),
      store.getBranch(target),
    ])
    return { target, conversation, branch }
  }
  const { key, ...wanted } = typeof target === 'string' ? { key: target } : target
  const found = await store.findOrCreate(key, { ...(prompt === null ? {} : { prompt }), ...wanted })
  return { target, conversation: found.conversation, branch: found.branch }
}

function opened(store: RecordStore, recording: TurnRecording, waiting: readonly NewMessage[]): Opened {
  return {
    recording,
    async read(window) {
      const history = await readHistory(store, recording.head, window, {
        toolResults: 'preview',
        // `shown` says how to read on.
        mark: () => '',
      })
      const messages: Message[] = [...history.messages]
      for (const message of waiting) messages.push(localMessage(message, messages.at(-1), null))
      return { ...history, messages }
    },
  }
}
