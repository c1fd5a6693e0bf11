import type { BranchRef } from '../core/branch.ts'
import { errorText } from '../core/error-text.ts'
import type { MessageId } from '../core/ids.ts'
import type { NewMessage } from '../core/message.ts'
import { unlessAborted } from '../core/wait.ts'
import type { PathPosition, TurnReport } from './recording.ts'
import type { EarlierWrites } from './write-queue.ts'

/** A turn that has ended while its writes are still queued. */
export interface WaitingTurn extends EarlierWrites {
  /** Its branch, or the requested one as long as nothing of it is stored. */
  readonly branch: BranchRef
  /** Its newest stored message. */
  readonly head: MessageId | null
  /** The same as its report said. A caller that saw the report may name it as the head it expects. */
  readonly reportedHead: MessageId | null
  /** Its own queued messages. */
  readonly unsaved: readonly NewMessage[]
  position(): Promise<PathPosition>
  readonly settled: Promise<TurnReport>
}

interface StoreTurns {
  /** Oldest first. */
  readonly all: Set<WaitingTurn>
  /** The newest one of each branch, by the name that the next turn will use. */
  readonly newest: Map<string, WaitingTurn>
}

/** By store object, so that several agents on one store know of each other's waiting turns. */
const stores = new WeakMap<object, StoreTurns>()

/** Keeps an ended turn until its writes are stored or given up. */
export function addWaitingTurn(store: object, turn: WaitingTurn): void {
  const turns: StoreTurns = stores.get(store) ?? { all: new Set(), newest: new Map() }
  stores.set(store, turns)
  const name = nameOf(turn.branch)
  turns.all.add(turn)
  turns.newest.set(name, turn)
  void turn.settled.then(() => {
    turns.all.delete(turn)
    if (turns.newest.get(name) === turn) turns.newest.delete(name)
  })
}

/** The newest ended turn of a branch whose writes are still queued. */
export function waitingTurn(store: object, ref: BranchRef): WaitingTurn | undefined {
  return stores.get(store)?.newest.get(nameOf(ref))
}

/** The messages that ended turns of this process have not stored yet, and why. */
export interface Unsaved {
  /** The queued messages, oldest first. */
  readonly messages: readonly NewMessage[]
  /** The error of the first write that failed; null if there are no messages. */
  readonly reason: string | null
  /** The same error as an object; null if there are no messages. */
  readonly error: unknown
  /** The same messages by branch. */
  readonly branches: readonly UnsavedBranch[]
}

/** Queued messages of one branch. */
export interface UnsavedBranch {
  /** The branch that they will be stored on, unless it has moved meanwhile. */
  readonly branch: BranchRef
  /** The stored message that they follow. Null if that is the head of the branch. */
  readonly head: MessageId | null
  /** The messages, oldest first. */
  readonly messages: readonly NewMessage[]
}

/** The queued messages of ended turns of `store`, oldest first. */
export function unsavedIn(store: object): Unsaved {
  const [...turns] = stores.get(store)?.all ?? []
  const [first] = turns
  return {
    messages: turns.flatMap(({ unsaved }) => unsaved),
    reason: first ? errorText(first.outage.error) : null,
    error: first ? first.outage.error : null,
    branches: byBranch(turns),
  }
}

function byBranch(turns: readonly WaitingTurn[]): readonly UnsavedBranch[] {
  const found = new Map<string, UnsavedBranch>()
  for (const { branch, head, unsaved } of turns) {
    const name = nameOf(branch)
    const earlier = found.get(name)
    found.set(
      name,
      earlier
        ? { ...earlier, messages: [...earlier.messages, ...unsaved] }
        : { branch, head, messages: unsaved },
    )
  }
  return [...found.values()].filter(({ messages }) => messages.length > 0)
}

/** Resolves when no ended turn of `store` is queued: true if everything is stored, false if some of it never
 *  can be. Keeps the process alive meanwhile. Throws the signal's reason if the signal is aborted first. */
export async function allSaved(store: object, signal?: AbortSignal): Promise<boolean> {
  let isSaved = true
  for (;;) {
    const [turn] = stores.get(store)?.all ?? []
    if (!turn) return isSaved
    const { saved } = await whileAlive(turn.settled, signal)
    isSaved &&= saved
  }
}

/** Waits up to `ms` for `allSaved`. False if messages are still queued, or can never be stored. */
export async function savedWithin(store: object, ms: number): Promise<boolean> {
  const timeout = AbortSignal.timeout(ms)
  try {
    return await allSaved(store, timeout)
  } catch (error) {
    if (error !== timeout.reason) throw error
    return false
  }
}

/** Retries do not keep the process alive, so the caller that waits for them has to. */
async function whileAlive<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const alive = setInterval(() => undefined, 60_000)
  try {
    return await unlessAborted(work, signal)
  } finally {
    clearInterval(alive)
  }
}

function nameOf({ conversationId, name }: BranchRef): string {
  return `${conversationId} ${name}`
}
