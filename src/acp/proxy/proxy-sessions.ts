import type { BranchRef } from '../../core/branch.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Seat } from '../seat/seat.ts'

/** A session as the client knows it, and the seat behind it. */
export interface ProxySession {
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
export interface ProxySessions {
  get(id: string): ProxySession | undefined
  add(session: ProxySession): void
  remove(session: ProxySession): void
  all(): readonly ProxySession[]
  /** The one that the agent knows by this id. */
  ofAgent(sessionId: string): ProxySession | undefined
  /** The agent knows it by this id from now on. */
  link(sessionId: string, session: ProxySession): void
  /** The agent has gone, and its ids with it. */
  unlinkAll(): void
}

export function createProxySessions(): ProxySessions {
  const byId = new Map<string, ProxySession>()
  const byAgent = new Map<string, ProxySession>()
  return {
    get: id => byId.get(id),
    add(session) {
      byId.set(session.id, session)
    },
    remove(session) {
      byId.delete(session.id)
      for (const [sessionId, one] of byAgent) if (one === session) byAgent.delete(sessionId)
    },
    all: () => [...byId.values()],
    ofAgent: sessionId => byAgent.get(sessionId),
    link(sessionId, session) {
      byAgent.set(sessionId, session)
    },
    unlinkAll: () => byAgent.clear(),
  }
}
