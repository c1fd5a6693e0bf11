import type { ConversationReader, Deleter, Lister } from '../../core/ports.ts'
import type { RecorderSource } from '../../system/source.ts'
import type { AgentProcessSlot } from '../process/agent-process-slot.ts'
import type { ReplayWindow } from '../seat/replay-window.ts'
import type { SeatStore } from '../seat/seat-prompt.ts'
import type { RpcId, WireLine } from '../wire/wire-line.ts'
import type { ProxySession, ProxySessions } from './proxy-sessions.ts'

/** What the proxy needs of a store. */
export type ProxyStore = SeatStore &
  Pick<Lister, 'listConversations'> &
  Pick<Deleter, 'trash'> &
  ConversationReader

/** What the parts of a proxy share. */
export interface ProxyContext {
  readonly store: ProxyStore
  readonly source: RecorderSource
  /** What the agent's links are kept under. */
  readonly name: string
  readonly slot: AgentProcessSlot
  readonly sessions: ProxySessions
  /** What the agent replies to the client's requests, by the client's id. */
  readonly replies: PendingReplies
  /** Sessions that are being taken up from the agent's own memory, by id. */
  readonly adoptions: Map<string, SessionAdoption>
  /** Sends a line to the client. */
  toClient(line: Buffer | string): void
  /** Sends a line to the agent. */
  toAgent(line: Buffer | string): void
  /** A line for whoever looks into the editor's log. */
  log(text: string): void
  /** There is no agent, and never was: the proxy leaves. */
  giveUp(): void
}

/** A session that is being taken up from the agent's own memory. */
export interface SessionAdoption {
  readonly window: ReplayWindow
  /** Null if the agent does not know it either. */
  readonly done: Promise<ProxySession | null>
}

/** Whoever waits for the agent's answer to a request of the client's. */
export interface PendingReply {
  /** The answer has come. What it returns is waited for before the agent's next line is looked at. */
  onAnswer(line: WireLine): void | Promise<void>
  /** The agent has died instead. */
  onDeath(): void
}

export interface PendingReplies {
  expect(id: RpcId, pending: PendingReply): void
  take(id: RpcId): PendingReply | undefined
  /** All that will never come. */
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
