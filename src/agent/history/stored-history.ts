import { readHistory } from '../../context/read-context.ts'
import { checkNotOwned, NotFoundError } from '../../core/errors.ts'
import type { Message } from '../../core/message.ts'
import { beginTurn } from '../../recorder/begin-turn.ts'
import type { RecordStore, TurnRecording } from '../../recorder/recording.ts'
import { type BegunTurn, type HistoryStore, isBranch, type ResolvedTarget, type Target } from './history.ts'
import { localMessage } from './local-message.ts'

/** The prompt and the model of the conversations that are created. */
export interface ConversationDefaults {
  readonly prompt: string | null
  readonly model: string
}

/** Keeps conversations in a store. */
export function storedHistory(store: RecordStore, defaults: ConversationDefaults): HistoryStore {
  return {
    async resolve(target, otherwise) {
      const resolved = otherwise === 'make' ? await make(store, target, defaults) : await find(store, target)
      checkNotOwned(resolved.conversation!)
      return withPrompt(store, resolved, defaults.prompt)
    },
    async beginTurn(resolved, options) {
      const branch = resolved.branch!
      return begunTurn(store, await beginTurn(store, branch, { likelyHead: branch.head, ...options }))
    },
  }
}

async function find(store: RecordStore, target: Target): Promise<ResolvedTarget> {
  if (isBranch(target)) {
    // One after the other: at once, a short program on PostgreSQL would open a second connection.
    const conversation = await store.getConversation(target.conversationId)
    return { target, conversation, branch: await store.getBranch(target) }
  }
  const key = typeof target === 'string' ? target : target.key
  const found = await store.findByKey(key)
  if (!found) throw new NotFoundError('key', key)
  return { target, ...found }
}

async function make(
  store: RecordStore,
  target: Target,
  { prompt, model }: ConversationDefaults,
): Promise<ResolvedTarget> {
  if (isBranch(target)) return find(store, target)
  const { key, ...wanted } = typeof target === 'string' ? { key: target } : target
  const facts = { model, ...(prompt === null ? {} : { prompt }), ...wanted }
  const { conversation, branch } = await store.findOrCreate(key, facts)
  return { target, conversation, branch }
}

/** Stores a changed prompt, if the conversation takes a new one with each turn: the prompt hash of a turn
 *  refers to it. */
async function withPrompt(
  store: RecordStore,
  resolved: ResolvedTarget,
  prompt: string | null,
): Promise<ResolvedTarget> {
  const conversation = resolved.conversation!
  const isChanged = conversation.promptPolicy === 'rebuild' && prompt !== (conversation.prompt?.text ?? null)
  if (prompt === null || !isChanged) return resolved
  return { ...resolved, conversation: await store.updateConversation(conversation.id, { prompt }) }
}

function begunTurn(store: RecordStore, recording: TurnRecording): BegunTurn {
  return {
    recording,
    async read(window) {
      const { head, unsaved } = await recording.position()
      const history = await readHistory(store, head, window, {
        toolResults: 'preview',
        // `shortenToolResults` adds the hint how to read the rest.
        mark: () => '',
      })
      const messages: Message[] = [...history.messages]
      for (const message of unsaved) messages.push(localMessage(message, messages.at(-1), null))
      return { ...history, messages }
    },
  }
}
