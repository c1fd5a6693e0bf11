import type { BranchRef } from '../../core/branch.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Seat } from '../seat/seat.ts'

/** A session as the client knows it, and the seat behind it. */
export interface Entry {
  /** The client's id for it, which never changes; the agent's own may. */
  readonly id: string
  /** Where the agent works, as it stands in the store. */
  readonly directory: string
  readonly seat: Seat
  /** The branch that it is kept on; made, where there is none yet. */
  branch(): Promise<BranchRef>
  /** What the client has set since (mode, options), to be set again in a new session of the agent's. */
  readonly settings: Map<string, { readonly method: string; readonly params: JsonObject }>
  /** The agent's session that these were set in last. */
  setIn: string | null
  /** The prompts that are under way, and how to stop them; `sent` once the agent has it. */
  readonly prompts: Set<{ readonly abort: AbortController; sent: boolean }>
}

/** Sessions by the client's id and by the agent's. */
export interface Entries {
  get(id: string): Entry | undefined
  add(entry: Entry): void
  remove(entry: Entry): void
  all(): readonly Entry[]
  /** The one that the agent knows by this id. */
  ofAgent(sessionId: string): Entry | undefined
  /** The agent knows it by this id from now on. */
  link(sessionId: string, entry: Entry): void
  /** The agent has gone, and its ids with it. */
  unlinkAll(): void
}

export function createEntries(): Entries {
  const byId = new Map<string, Entry>()
  const byAgent = new Map<string, Entry>()
  return {
    get: id => byId.get(id),
    add(entry) {
      byId.set(entry.id, entry)
    },
    remove(entry) {
      byId.delete(entry.id)
      for (const [sessionId, one] of byAgent) if (one === entry) byAgent.delete(sessionId)
    },
    all: () => [...byId.values()],
    ofAgent: sessionId => byAgent.get(sessionId),
    link(sessionId, entry) {
      byAgent.set(sessionId, entry)
    },
    unlinkAll: () => byAgent.clear(),
  }
}
