import type { BranchRef } from '../../core/branch.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ExchangeRecording } from './exchange-recording.ts'
import type { Fingerprint } from './fingerprint.ts'

/** The end of a branch, as the exchange left it that was recorded there last. */
export interface EndedExchange {
  readonly branch: BranchRef
  readonly head: MessageId | null
  readonly known: readonly Fingerprint[]
  /** True while the exchange waits to be stored. `head` is the newest stored message then. */
  readonly isWaiting: boolean
}

/** What this process knows about a conversation that it records. */
export interface ConversationState {
  /** The exchanges that have not ended. */
  readonly open: Set<ExchangeRecording>
  /** The branches on which an exchange is about to begin. */
  readonly claimed: Set<string>
  /** By the name of the branch, the newest last. */
  readonly ended: Map<string, EndedExchange>
  /** The exchange of each tool call. */
  readonly byCall: Map<string, ExchangeRecording>
}

const ofStores = new WeakMap<object, Map<ConversationId, ConversationState>>()

/** The state that all recorders of one store and conversation share. A server creates a recorder for each
 *  request, and the next step of an exchange may come with the next request. Without the shared state, the
 *  exchange would treat its own turn as a turn of another process. */
export function conversationState(store: object, conversation: ConversationId): ConversationState {
  const known = ofStores.get(store) ?? new Map<ConversationId, ConversationState>()
  ofStores.set(store, known)
  const state = known.get(conversation) ?? emptyState()
  known.delete(conversation)
  putNewest(known, conversation, state, 1_000, one => one.open.size === 0)
  return state
}

function emptyState(): ConversationState {
  return { open: new Set(), claimed: new Set(), ended: new Map(), byCall: new Map() }
}

/** Puts an entry last. If there are more than `most`, drops the oldest one that `mayGo` allows, to bound
 *  memory. */
export function putNewest<K, V>(
  map: Map<K, V>,
  key: K,
  value: V,
  most: number,
  mayGo: (value: V) => boolean = () => true,
): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= most) return
  for (const [oldest, one] of map) {
    if (!mayGo(one)) continue
    map.delete(oldest)
    return
  }
}
