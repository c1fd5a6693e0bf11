import type { ConversationReader, Deleter, Lister } from '../../core/ports.ts'
import type { RecorderSource } from '../../system/source.ts'
import type { AgentProcessSlot } from '../process/agent-process-slot.ts'
import type { HandOverOptions } from '../seat/hand-over.ts'
import type { ReplayWindow } from '../seat/replay-window.ts'
import type { SeatStore } from '../seat/seat-prompt.ts'
import type { RpcId, WireLine } from '../wire/wire-line.ts'
import type { ProxySession, ProxySessions } from './proxy-sessions.ts'

/** The part of a store that the proxy needs. */
export type ProxyStore = SeatStore &
  Pick<Lister, 'listConversations'> &
  Pick<Deleter, 'trash'> &
  ConversationReader

/** How long an agent may take before its process is replaced. */
export interface ProxyLimits {
  /** To answer `initialize`, or to open a session, without any update. Default: 60,000. */
  readonly answerMs: number
  /** To end a cancelled turn. Default: 10,000. */
  readonly cancelMs: number
}

/** State that the parts of a proxy share. */
export interface ProxyContext {
  readonly store: ProxyStore
  readonly source: RecorderSource
  readonly limits: ProxyLimits
  /** The name under which links to the agent's sessions are stored. */
  readonly name: string
  /** Identifies the store; null if that is unknown. */
  readonly storeId: string | null
  /** How much of a conversation an agent is told, and where the rest is. */
  readonly telling: HandOverOptions
  readonly slot: AgentProcessSlot
  readonly sessions: ProxySessions
  /** Requests of the client that the agent has not answered, by the client's id. */
  readonly replies: PendingReplies
  /** Sessions that are being adopted from the agent's own memory, by id. */
  readonly adoptions: Map<string, SessionAdoption>
  /** Sends a line to the client. */
  toClient(line: Buffer | string): void
  /** Resolves when the client has taken what was sent, except for a few lines. */
  clientIsReady(): Promise<void>
  /** Sends a line to the agent. */
  toAgent(line: Buffer | string): void
  /** Writes a line to the editor's log. */
  log(text: string): void
  /** Logs an outage of the store, once. */
  storeIsAway(error: unknown): void
  /** Logs the end of the outage. */
  storeIsBack(): void
  /** The agent stores its conversations in the same store: from now on, all lines pass unchanged. */
  relayOnly(): void
  /** The agent could never be started: the proxy exits. */
  giveUp(): void
}

/** A session that only the agent knows, while it is copied to the store. */
export interface SessionAdoption {
  readonly window: ReplayWindow
  /** True if the client has not asked for the transcript: the agent's replay is not relayed. */
  readonly isSilent: boolean
  /** Null if the agent does not know it either. */
  readonly done: Promise<ProxySession | null>
}

/** A request of the client that was relayed to the agent. */
export interface PendingReply {
  /** The answer has arrived. If this returns a promise, the agent's next line waits for it. */
  onAnswer(line: WireLine): void | Promise<void>
  /** The process has ended instead. */
  onDeath(): void
}

export interface PendingReplies {
  expect(id: RpcId, pending: PendingReply): void
  take(id: RpcId): PendingReply | undefined
  /** Removes and returns all of them. */
  takeAll(): readonly PendingReply[]
}

export function createPendingReplies(): PendingReplies {
  const expected = new Map<string, PendingReply>()
  return {
    expect(id, pending) {
      expected.set(JSON.stringify(id), pending)
    },
    take(id) {
      const key = JSON.stringify(id)
      const found = expected.get(key)
      expected.delete(key)
      return found
    },
    takeAll() {
      const all = [...expected.values()]
      expected.clear()
      return all
    },
  }
}
