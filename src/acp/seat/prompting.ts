import type { MessageId } from '../../core/ids.ts'
import type { NewMessage } from '../../core/message.ts'
import type { Usage } from '../../core/turn.ts'
import type { BeginTurn, TurnRecording, TurnReport } from '../../recorder/recording.ts'
import type { MemoryReport } from '../memory/outcome.ts'
import type { Effect } from '../transcript/fold.ts'
import type { SeatAgent } from './seat-agent.ts'

/** How a prompt ended, as the agent says. */
export interface PromptEnd {
  readonly stop: string
  readonly usage?: Usage
}

/** A prompt on its way. */
export interface Prompting {
  /** Empty to go on with a turn that was interrupted. */
  readonly words: readonly NewMessage[]
  /** The message that the prompt follows, where it is not the one before the words. */
  readonly follows?: MessageId | null
  /** What the agent is told if it has to be told, instead of what is stored (S4-19). */
  readonly history?: readonly NewMessage[]
  readonly key?: string
  readonly onBusy?: NonNullable<BeginTurn['onBusy']>
  readonly signal?: AbortSignal
  /** The turn has begun: the words are on the disk. */
  onBegun?(recording: TurnRecording): void
  onMemory?(report: MemoryReport): void
  onEffect?(effect: Effect): void
  onTrouble?: BeginTurn['onTrouble']
  /** Sends the prompt to the agent, behind this text if there is one, and waits for its end. */
  send(agent: SeatAgent, sessionId: string, telling: string | null): Promise<PromptEnd>
}

/** How a turn ended. */
export interface Prompted {
  readonly report: TurnReport
  readonly end: PromptEnd | null
  /** What went wrong, if the agent refused or died. */
  readonly error: unknown
}
