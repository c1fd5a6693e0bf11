import type { BranchRef } from '../core/branch.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import type { Face } from './align-face.ts'
import type { Line } from './recorded-line.ts'

/** Where an exchange left a branch. */
export interface Left {
  readonly branch: BranchRef
  readonly head: MessageId | null
  readonly known: readonly Face[]
  /** True while the exchange still waits to be stored: `head` is the newest stored message then. */
  readonly waits: boolean
}

/** What this process knows of a conversation that it records. */
export interface Shared {
  /** The exchanges that have not ended. */
  readonly open: Set<Line>
  /** The branches on which an exchange is just being begun. */
  readonly claimed: Set<string>
  /** By the name of the branch, the newest last. */
  readonly left: Map<string, Left>
  /** The exchange that a call of a tool belongs to. */
  readonly byCall: Map<string, Line>
}

const ofStores = new WeakMap<object, Map<ConversationId, Shared>>()

/** What recorders of one store and one conversation share. A server makes a recorder for each request, and
 *  the next step of an exchange may come with the next request: it has to be found, or it would meet its own
 *  turn as another's. */
export function sharedOf(store: object, conversation: ConversationId): Shared {
  const known = ofStores.get(store) ?? new Map<ConversationId, Shared>()
  ofStores.set(store, known)
  const shared = known.get(conversation) ?? nothing()
  known.delete(conversation)
  remember(known, conversation, shared, 1_000, one => one.open.size === 0)
  return shared
}

function nothing(): Shared {
  return { open: new Set(), claimed: new Set(), left: new Map(), byCall: new Map() }
}

/** Puts an entry last and lets the oldest one go that may go, so that what lives for long does not grow. */
export function remember<K, V>(
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
