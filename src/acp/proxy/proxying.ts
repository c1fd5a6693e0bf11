import type { ConversationReader, Deleter, Lister } from '../../core/ports.ts'
import type { RecorderSource } from '../../system/source.ts'
import type { SeatStore } from '../seat/seat-agent.ts'
import type { Line, RpcId } from '../wire/line.ts'
import type { Adopting } from './adopt-session.ts'
import type { AgentSide } from './agent-side.ts'
import type { Entries } from './entry.ts'

/** What the proxy needs of a store. */
export type ProxyStore = SeatStore &
  Pick<Lister, 'listConversations'> &
  Pick<Deleter, 'trash'> &
  ConversationReader

/** What the parts of a proxy share. */
export interface Proxying {
  readonly store: ProxyStore
  readonly source: RecorderSource
  /** What the agent's links are kept under. */
  readonly name: string
  readonly side: AgentSide
  readonly entries: Entries
  /** What the agent answers to the client's requests, by the client's id. */
  readonly answers: Answers
  /** Sessions that are being taken up from the agent's own memory, by id. */
  readonly adopting: Map<string, Adopting>
  /** Sends a line to the client. */
  tell(line: Buffer | string): void
  /** Sends a line to the agent. */
  toAgent(line: Buffer | string): void
  /** A line for whoever looks into the editor's log. */
  log(text: string): void
  /** There is no agent, and never was: the proxy leaves. */
  giveUp(): void
}

/** Whoever waits for the agent's answer to a request of the client's. */
export interface Awaiting {
  /** The answer has come. What it returns is waited for before the agent's next line is looked at. */
  onAnswer(line: Line): void | Promise<void>
  /** The agent has died instead. */
  onDeath(): void
}

export interface Answers {
  expect(id: RpcId, awaiting: Awaiting): void
  take(id: RpcId): Awaiting | undefined
  /** All that will never come. */
  takeAll(): readonly Awaiting[]
}

export function createAnswers(): Answers {
  const expected = new Map<string, Awaiting>()
  return {
    expect(id, awaiting) {
      expected.set(JSON.stringify(id), awaiting)
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
