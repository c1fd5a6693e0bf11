import { asText } from '../../context/text/as-text.ts'
import type { NewMessage } from '../../core/message.ts'
import type { TellingLimits } from '../memory/telling.ts'
import type { ToTell } from '../memory/what-to-tell.ts'

/** What the caller wants it to be told, if it has to be told anything or knows nothing. */
export function withGiven<T extends { readonly tell: ToTell }>(
  planned: T,
  history: readonly NewMessage[],
  limits: TellingLimits,
): T {
  const { text: wouldTell, report: would } = planned.tell
  const text = asText(history, { messages: limits.messages })
  if ((wouldTell === null && would.outcome !== 'fresh') || text === '') return planned
  const injected = Math.min(history.length, limits.messages)
  const outcome = would.outcome === 'fresh' ? 'injected' : would.outcome
  const report = { ...would, outcome, injected, untold: history.length - injected } as const
  return { ...planned, tell: { text: `${text}\n\n`, report } }
}
