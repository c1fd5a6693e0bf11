import { fence } from '../../context/text/guard-lines.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { NewMessage } from '../../core/message.ts'
import { historyText } from '../memory/history-text.ts'
import type { MemoryPlan } from '../memory/plan-memory.ts'
import type { HistoryTelling } from '../memory/tell-history.ts'
import { withoutSpace } from '../memory/turn-text.ts'
import type { Heard } from '../transcript/heard.ts'
import type { SeatSession } from './take-seat.ts'

/** Replaces the stored history by the caller's, if one has to be injected or the session is new. */
export function withGivenHistory<T extends { readonly plan: MemoryPlan }>(
  planned: T,
  history: readonly NewMessage[],
  { tokens, directory }: Pick<HistoryTelling, 'tokens' | 'directory'>,
): T {
  const { text: storedText, report: stored } = planned.plan
  const told = historyText(history, { tokens, directory })
  if ((storedText === null && stored.outcome !== 'fresh') || !told) return planned
  const outcome = stored.outcome === 'fresh' ? 'injected' : stored.outcome
  const report = {
    ...stored,
    outcome,
    injected: told.messages,
    untold: told.untold,
    transcript: null,
  } as const
  return { ...planned, plan: { text: told.text, report } }
}

/** The data of the `resume` trace: how the agent got its memory. take-seat.ts reads it to find out what is in
 *  the system prompt of a session. */
export function memoryTrace(
  agent: string,
  session: SeatSession,
  { report, text }: MemoryPlan,
  upTo: MessageId | null,
): JsonObject {
  const { sessionId, way, inSystem, recall } = session
  const through = way === 'new' && inSystem !== null ? 'system' : text === null ? null : 'text'
  const failed = report.failed.map(tier => ({ ...tier }))
  return {
    agent,
    session: sessionId,
    ...report,
    failed,
    through,
    upTo,
    ...(recall !== undefined && { recall }),
  }
}

/** Whether a chunk of user text is a part of the injected text. Agents repeat it in pieces, or joined with
 *  the prompt after it. */
export function isInjected(heard: Extract<Heard, { type: 'user' }>, injectedText: string): boolean {
  if (injectedText === '') return false
  const text = heard.block.type === 'text' ? withoutSpace(String(heard.block.text)) : ''
  return text !== '' && (text.includes(`<${fence}>`) || withoutSpace(injectedText).includes(text))
}
