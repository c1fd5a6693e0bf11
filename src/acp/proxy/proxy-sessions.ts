import type { BranchRef } from '../../core/branch.ts'
import type { Seat } from '../seat/seat.ts'
import type { SettingRequest, ShownSettings } from '../sessions/shown-settings.ts'

/** A session as the client knows it, with its seat. */
export interface ProxySession {
  /** The client's session id. It never changes; the agent's may. */
  readonly id: string
  /** The working directory, as the store has it. */
  readonly directory: string
  readonly seat: Seat
  /** The branch; created, if it does not exist yet. */
  branch(): Promise<BranchRef>
  /** Modes, models and options that the client or the agent has changed, to be set again in the agent's next
   *  session. */
  readonly settings: Map<string, SettingRequest>
  /** Modes, models and options, as the client knows them. */
  shown: ShownSettings
  /** The agent's session that has these settings. */
  setIn: string | null
  /** Prompts that are not answered yet. */
  readonly prompts: Set<OpenPrompt>
}

/** A prompt that is not answered yet. */
export interface OpenPrompt {
  readonly abort: AbortController
  /** Stops waiting for the agent; null as long as the agent does not have the prompt. */
  giveUp: (() => void) | null
}

/** Keeps a setting for the agent's next session. The newest is set last: a mode may be an option as well. */
export function keepSetting({ settings }: ProxySession, request: SettingRequest): void {
  const name = `${request.method} ${String(request.params.configId ?? '')}`
  settings.delete(name)
  settings.set(name, request)
}

/** Sessions by the client's id and by the agent's. */
export interface ProxySessions {
  get(id: string): ProxySession | undefined
  add(session: ProxySession): void
  remove(session: ProxySession): void
  all(): readonly ProxySession[]
  /** The session with this id of the agent. */
  ofAgent(sessionId: string): ProxySession | undefined
  /** Whether this id of the agent belonged to a session that was closed or deleted. */
  isGone(sessionId: string): boolean
  /** Sets the agent's id of a session. */
  link(sessionId: string, session: ProxySession): void
  /** The process has ended: removes all ids of the agent. */
  unlinkAll(): void
}

export function createProxySessions(): ProxySessions {
  const byId = new Map<string, ProxySession>()
  const byAgent = new Map<string, ProxySession>()
  const gone = new Set<string>()
  return {
    get: id => byId.get(id),
    add(session) {
      byId.set(session.id, session)
    },
    remove(session) {
      byId.delete(session.id)
      for (const [sessionId, one] of byAgent) {
        if (one !== session) continue
        byAgent.delete(sessionId)
        gone.add(sessionId)
      }
    },
    all: () => [...byId.values()],
    ofAgent: sessionId => byAgent.get(sessionId),
    isGone: sessionId => gone.has(sessionId),
    link(sessionId, session) {
      gone.delete(sessionId)
      byAgent.set(sessionId, session)
    },
    unlinkAll() {
      byAgent.clear()
      gone.clear()
    },
  }
}
