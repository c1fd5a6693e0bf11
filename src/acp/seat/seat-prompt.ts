import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import { reportedTokens } from '../../core/tokens.ts'
import type { Usage } from '../../core/turn.ts'
import type { BeginTurn, RecordStore, TurnRecording, TurnReport } from '../../recorder/recording.ts'
import type { MemoryReport } from '../memory/memory-report.ts'
import type { RunningAgent } from '../process/agent-process-slot.ts'
import type { FoldEffect } from '../transcript/fold.ts'
import { isObject } from '../wire/is-object.ts'

/** The part of a store that a host or a seat needs. */
export type SeatStore = RecordStore

/** How a prompt ended, by the agent's answer to it. */
export interface PromptEnd {
  readonly stop: string
  readonly usage?: Usage
}

/** A prompt for the agent of a seat. */
export interface SeatPrompt {
  /** Empty to resume an interrupted turn. */
  readonly words: readonly NewMessage[]
  /** The message that the prompt follows. Default: the parent of the first of `words`. */
  readonly follows?: MessageId | null
  /** Injected instead of the stored history, if the agent needs one (S4-19). */
  readonly history?: readonly NewMessage[]
  /** The system prompt. The first prompt of a new session begins with it (S4-17). */
  readonly system?: string
  readonly key?: string
  readonly onBusy?: NonNullable<BeginTurn['onBusy']>
  readonly signal?: AbortSignal
  /** The turn has begun: `words` are stored. */
  onBegun?(recording: TurnRecording): void
  onMemory?(report: MemoryReport): void
  onEffect?(effect: FoldEffect): void
  onTrouble?: BeginTurn['onTrouble']
  onWait?: BeginTurn['onWait']
  /** Sends the prompt to the agent, after the system prompt and the injected text if there are any, and waits
   *  for its end. */
  send(
    agent: RunningAgent,
    sessionId: string,
    injected: string | null,
    system: string | null,
  ): Promise<PromptEnd>
}

/** How the turn of a prompt ended. */
export interface SeatPromptResult {
  readonly report: TurnReport
  readonly end: PromptEnd | null
  /** The error, if the agent refused or died. */
  readonly error: unknown
}

/** Reads the agent's answer to a prompt. Default stop reason: `end_turn`. */
export function promptEndOf(result: unknown): PromptEnd {
  if (!isObject(result)) return { stop: 'end_turn' }
  const stop = typeof result.stopReason === 'string' ? result.stopReason : 'end_turn'
  const usage = isObject(result.usage) ? usageIn(result.usage) : null
  return { stop, ...(usage ? { usage } : {}) }
}

/** The tokens that a prompt used; null if the agent does not report them. */
function usageIn(usage: JsonObject): Usage | null {
  const read = {
    input: reportedTokens(usage.inputTokens),
    output: reportedTokens(usage.outputTokens),
    cacheRead: reportedTokens(usage.cachedReadTokens),
    cacheWrite: reportedTokens(usage.cachedWriteTokens),
    reasoning: reportedTokens(usage.thoughtTokens),
  }
  const known = Object.entries(read).filter(([, value]) => value !== undefined)
  return known.length > 0 ? Object.fromEntries(known) : null
}
