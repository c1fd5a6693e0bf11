import type { Window } from '../../context/fit/window.ts'
import { readHistory } from '../../context/read-context.ts'
import type { BranchRef } from '../../core/branch.ts'
import { checkNotOwned, NotFoundError } from '../../core/errors.ts'
import type { Message, NewMessage } from '../../core/message.ts'
import { beginTurn } from '../../recorder/begin-turn.ts'
import type { RecordStore, TurnRecording } from '../../recorder/recording.ts'
import { type BegunTurn, type HistoryStore, isBranch, type ResolvedTarget, type Target } from './history.ts'
import { endOfNew, endWith, findWithEnd, type KnownEnd, knowingEnd } from './known-end.ts'
import { localMessage } from './local-message.ts'

/** The prompt and the model of the conversations that are created. */
export interface ConversationDefaults {
  readonly prompt: string | null
  readonly model: string
}

/** Keeps conversations in a store. */
export function storedHistory(store: RecordStore, defaults: ConversationDefaults): HistoryStore {
  return {
    async resolve(target, otherwise, window) {
      const resolved =
        otherwise === 'make' ? await make(store, target, window, defaults) : await find(store, target, window)
      checkNotOwned(resolved.conversation!)
      return withPrompt(store, resolved, defaults.prompt)
    },
    async beginTurn(resolved, options) {
      const branch = resolved.branch!
      const recording = await beginTurn(store, branch, { likelyHead: branch.head, ...options })
      return begunTurn(store, recording, endAfter(resolved, options.words, recording))
    },
  }
}

async function find(store: RecordStore, target: Target, window: Window | null): Promise<ResolvedTarget> {
  const found = await look(store, target, window)
  if (found) return found
  // Throws NotFoundError for the one that is missing.
  if (isBranch(target)) await store.getConversation(target.conversationId)
  throw isBranch(target) ? new NotFoundError('branch', target.name) : new NotFoundError('key', keyOf(target))
}

async function look(
  store: RecordStore,
  target: Target,
  window: Window | null,
): Promise<ResolvedTarget | null> {
  if (window !== null) {
    const found = await findWithEnd(store, isBranch(target) ? target : keyOf(target), window)
    return found && { target, ...found }
  }
  if (!isBranch(target)) {
    const found = await store.findByKey(keyOf(target))
    return found && { target, ...found, end: null }
  }
  // One after the other: at once, a short program on PostgreSQL would open a second connection.
  const conversation = await store.getConversation(target.conversationId)
  return { target, conversation, branch: await store.getBranch(target), end: null }
}

async function make(
  store: RecordStore,
  target: Target,
  window: Window | null,
  { prompt, model }: ConversationDefaults,
): Promise<ResolvedTarget> {
  if (isBranch(target)) return find(store, target, window)
  const known = window && (await look(store, target, window))
  if (known) return known
  const { key, ...wanted } = typeof target === 'string' ? { key: target } : target
  const facts = { model, ...(prompt === null ? {} : { prompt }), ...wanted }
  const found = await store.findOrCreate(key, facts)
  const { conversation, branch } = found
  return { target, conversation, branch, end: window && endOfNew(found, window) }
}

function keyOf(target: Exclude<Target, BranchRef>): string {
  return typeof target === 'string' ? target : target.key
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

/** The end of the path after the words that opened a turn, if it is known without reading. */
function endAfter(
  { end, branch }: ResolvedTarget,
  words: readonly NewMessage[],
  { head, openedAfter }: TurnRecording,
): KnownEnd | null {
  if (end === null || head === null) return null
  if (head === end.head) return end
  const [word, ...others] = words
  // The ids of others are not known. Only what a user says is stored as it is.
  if (openedAfter !== end.head || word?.role !== 'user' || others.length > 0) return null
  const { conversationId } = branch!
  return endWith(end, { ...localMessage(word, end.tail.messages.at(-1), head), conversationId })
}

function begunTurn(store: RecordStore, recording: TurnRecording, end: KnownEnd | null): BegunTurn {
  let known = end
  return {
    recording,
    async read(window) {
      const reader = known === null ? store : knowingEnd(store, known)
      // Another read may follow after a new summary.
      known = null
      const { head, unsaved } = await recording.position()
      const history = await readHistory(reader, head, window, {
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
