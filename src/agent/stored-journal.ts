import { readHistory } from '../context/read-context.ts'
import { NotFoundError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import { beginTurn } from '../recorder/begin-turn.ts'
import type { RecordStore, TurnRecording } from '../recorder/recording.ts'
import { isBranch, type Journal, type Meeting, type Opened, type Target } from './journal.ts'
import { localMessage } from './local-message.ts'

/** What a conversation is told of who speaks in it. */
export interface Speaking {
  readonly prompt: string | null
  readonly model: string
}

/** Keeps what is said in a store. */
export function storedJournal(store: RecordStore, speaking: Speaking): Journal {
  return {
    async meet(target, otherwise) {
      const meeting = otherwise === 'make' ? await make(store, target, speaking) : await find(store, target)
      return withPrompt(store, meeting, speaking.prompt)
    },
    async begin(meeting, options) {
      return opened(store, await beginTurn(store, meeting.branch!, options))
    },
  }
}

async function find(store: RecordStore, target: Target): Promise<Meeting> {
  if (isBranch(target)) {
    const [conversation, branch] = await Promise.all([
      store.getConversation(target.conversationId),
      store.getBranch(target),
    ])
    return { target, conversation, branch }
  }
  const key = typeof target === 'string' ? target : target.key
  const place = await store.findByKey(key)
  if (!place) throw new NotFoundError('key', key)
  return { target, ...place }
}

async function make(store: RecordStore, target: Target, { prompt, model }: Speaking): Promise<Meeting> {
  if (isBranch(target)) return find(store, target)
  const { key, ...wanted } = typeof target === 'string' ? { key: target } : target
  const begins = { model, ...(prompt === null ? {} : { prompt }), ...wanted }
  const { conversation, branch } = await store.findOrCreate(key, begins)
  return { target, conversation, branch }
}

/** A prompt that is supplied anew each time is recorded when it changes: the hash that a turn keeps leads to
 *  it. */
async function withPrompt(store: RecordStore, meeting: Meeting, prompt: string | null): Promise<Meeting> {
  const conversation = meeting.conversation!
  const isNews = conversation.promptPolicy === 'rebuild' && prompt !== (conversation.prompt?.text ?? null)
  if (prompt === null || !isNews) return meeting
  return { ...meeting, conversation: await store.updateConversation(conversation.id, { prompt }) }
}

function opened(store: RecordStore, recording: TurnRecording): Opened {
  return {
    recording,
    async read(window) {
      const { head, unsaved } = await recording.position()
      const history = await readHistory(store, head, window, {
        toolResults: 'preview',
        // `shown` says how to read on.
        mark: () => '',
      })
      const messages: Message[] = [...history.messages]
      for (const message of unsaved) messages.push(localMessage(message, messages.at(-1), null))
      return { ...history, messages }
    },
  }
}
