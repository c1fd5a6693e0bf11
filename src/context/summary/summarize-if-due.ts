import type { ConversationId, MessageId } from '../../core/ids.ts'
import { budgetOf, type Window } from '../fit/window.ts'
import { type SummarizeOptions, type SummaryOutcome, type SummaryStore, summarize } from './summarize.ts'
import { needsSummary } from './summary-plan.ts'

/** Makes a summary if the messages that none covers exceed the window. Null if none is due.
 *  `window` is that of the model that reads the summary, and sizes it; `summarizer` may be another model with
 *  a window of its own. `pinned` are the tokens of the system prompt and tools. */
export async function summarizeIfDue(
  store: SummaryStore,
  at: { readonly conversationId: ConversationId; readonly head: MessageId },
  history: Parameters<typeof needsSummary>[0],
  window: Window,
  summarizer: Pick<SummarizeOptions, 'model' | 'window' | 'signal'> & { readonly pinned?: number },
): Promise<SummaryOutcome | null> {
  const { pinned = 0, ...options } = summarizer
  if (!needsSummary(history, window, pinned)) return null
  return summarize(store, at, {
    ...options,
    maxTokens: Math.max(1, Math.floor(budgetOf(window) / 10)),
    ...(window.keepRecent === undefined ? {} : { keepRecent: window.keepRecent }),
  })
}
