/**
 * The input of a model call, made from stored messages. Pure functions, except for the few that read or write
 * through the ports of a store. `readContext` does all of it for one message of a store.
 */

// Start with `read-context.ts`, then `fit/fit.ts`.
// - `view/`: a path as providers accept it (`repair`): every call followed by its result, unique ids
// - `fit/`: the newest part of it that fits into a window (`fit`), token counts, the windows of known models
// - `summary/`: summaries of the older part (`summarize`), made once and stored next to the messages
// - `text/`: a conversation as one text, for agents that accept only text (`asText`)
// May import core only. No I/O of its own: a store and a model are parameters.

export type { BranchWithTail, FindWithTailOptions, TailFinder } from '../core/branch-with-tail.ts'
export type { MessageRange, NewSummary, Summary, SummaryClaim } from '../core/summary.ts'
export { estimateTokens } from '../core/tokens.ts'
export { exactCounter } from './fit/count.ts'
export { fit } from './fit/fit.ts'
export type { ModelWindow, WindowOverrides } from './fit/model-windows.ts'
export { windowOf } from './fit/model-windows.ts'
export type { CountTokens, CutMessage, Fitted, LeftOut, LeftReason, Pinned, Window } from './fit/window.ts'
export type { ReadContext, ReadContextOptions, ReadHistory } from './read-context.ts'
export { readContext, readHistory } from './read-context.ts'
export type { ContextReader } from './summary/newest-summary.ts'
export type { SummarizeOptions, SummaryOutcome, SummaryStore } from './summary/summarize.ts'
export { summarize } from './summary/summarize.ts'
export { needsSummary } from './summary/summary-plan.ts'
export type { AsTextOptions, TextMessage, TextPreset } from './text/as-text.ts'
export { asText } from './text/as-text.ts'
export { repair } from './view/view.ts'
