import type { MessageId } from '../core/ids.ts'
import type { BlobRef, Message } from '../core/message.ts'
import type { ReadOptions, Tail } from '../core/ports.ts'
import type { Summary } from '../core/summary.ts'
import { estimateTokens } from '../core/tokens.ts'
import { budgetOf } from './budget.ts'
import { fit } from './fit.ts'
import type { CountTokens, Fitted, Pinned, Window } from './fitted.ts'
import { type Covering, newestSummary, type SummaryReader } from './newest-summary.ts'
import { shortenResults } from './shorten-results.ts'

/** What reading a context needs of a store. Never `path`: a context costs what its window costs. */
export type ContextReader = SummaryReader

export interface ReadContextOptions {
  /** Counts anew instead of using the counts that were stored with the messages. */
  readonly count?: CountTokens
  /** `none` shows what was said even where a summary stands for it; `newest` unless said otherwise. */
  readonly summary?: 'newest' | 'none'
  /** `preview` shows only the beginning of results that are kept in blobs; `whole` unless said otherwise. */
  readonly toolResults?: 'whole' | 'preview'
  /** What is written behind the beginning of a result: a hint how to read the rest, say. */
  readonly mark?: (rest: BlobRef) => string
  /** Leaves out the messages of turns that are still open. */
  readonly wholeTurns?: true
}

/** The newest part of a path, as much as a window needs, and what stands for the rest. */
export interface ReadHistory {
  /** The end of the path, as far as it was read, oldest first. */
  readonly messages: readonly Message[]
  /** Messages of the path that lie before those, and their tokens. */
  readonly older: number
  readonly olderTokens: number
  /** The summary that stands for the beginning of the path, if there is one and it was asked for. */
  readonly summary: Summary | null
  /** How many of the older ones no summary stands for: what `fit` wants to know as `pinned.older`. */
  readonly missing: number
  /** Messages and tokens of the whole path that no summary stands for. They tell whether the next one is due: see
   *  `needsSummary`. */
  readonly uncovered: { readonly messages: number; readonly tokens: number }
}

/** The context at a message, and what it was made of. */
export interface ReadContext extends ReadHistory {
  readonly fitted: Fitted
}

/** Reads what a model is to be given at this message: the newest part of its path, as much as the window holds, and
 *  the summary of what lies before, if there is one. Asks the store for a tail, never for the whole history. `head`
 *  is null where nothing has been said. Throws what `fit` throws.
 *
 * @example
 * ```ts
 * import { openStore, textOf } from 'skein'
 * import { readContext, windowOf } from 'skein/context'
 *
 * await using store = await openStore(':memory:')
 * const { branch } = await store.create()
 * const { head } = await store.append(branch, null, [{ role: 'user', blocks: 'Why is the build red?' }])
 *
 * const window = windowOf('claude-sonnet-4-5')
 * const { fitted } = await readContext(store, head, window, { system: 'Be brief.' })
 * console.log(fitted.messages.map(textOf)) // [ 'Be brief.', 'Why is the build red?' ]
 * ```
 */
export async function readContext(
  reader: ContextReader,
  head: MessageId | null,
  window: Window,
  pinned: Omit<Pinned, 'summary' | 'older'> = {},
  options: ReadContextOptions = {},
): Promise<ReadContext> {
  const history = await readHistory(reader, head, window, options)
  const given: Pinned = { ...pinned, summary: history.summary, older: history.missing }
  return { ...history, fitted: fit(history.messages, window, given, countOf(options)) }
}

/** The same without the last step: for a caller that adds messages of its own before it calls `fit`. */
export async function readHistory(
  reader: ContextReader,
  head: MessageId | null,
  window: Window,
  options: ReadContextOptions = {},
): Promise<ReadHistory> {
  const tail = head === null ? nothing : await readTail(reader, head, window, options)
  const covering = options.summary === 'none' ? null : await newestSummary(reader, tail.messages)
  return {
    messages: tail.messages,
    older: tail.older,
    olderTokens: tail.olderTokens,
    summary: covering?.summary ?? null,
    missing: Math.max(0, tail.older - (covering?.messages ?? 0)),
    uncovered: uncovered(tail, covering, countOf(options)),
  }
}

const nothing: Tail = { messages: [], older: 0, olderTokens: 0 }

/** Of what was read, what is shown counts; of what lies before, what was stored. */
function uncovered(tail: Tail, covering: Covering | null, count: CountTokens | undefined) {
  const from = covering?.messages ?? 0
  const read = tail.messages.filter(message => message.depth >= from)
  const before = Math.max(0, tail.olderTokens - (covering?.tokens ?? 0))
  return {
    messages: Math.max(0, tail.older - from) + read.length,
    tokens: before + sum(read, message => (count ? count(message.blocks) : message.tokens)),
  }
}

/** Stored counts are of whole results, so what is shown of them has to be counted anew. */
function countOf({ count, toolResults }: ReadContextOptions): CountTokens | undefined {
  return count ?? (toolResults === 'preview' ? estimateTokens : undefined)
}

/** How often a tail is read again because its messages count for less than what was stored with them, and how
 *  many messages such a reading brings at most. */
const widenings = 3
const widest = 2_000

async function readTail(
  reader: ContextReader,
  head: MessageId,
  window: Window,
  options: ReadContextOptions,
): Promise<Tail> {
  const budget = Math.max(1, budgetOf(window))
  const most = Math.max(1, window.maxMessages ?? Number.POSITIVE_INFINITY)
  const read: ReadOptions = {
    ...(options.toolResults === 'preview' && { blobs: 'preview' }),
    ...(options.wholeTurns && { wholeTurns: true }),
  }
  const shown = async (tokens: number, messages: number): Promise<Tail> => {
    const limits = { tokens: wholeNumber(tokens), messages: wholeNumber(messages) }
    const tail = await reader.tail(head, limits, read)
    if (options.toolResults !== 'preview') return tail
    return { ...tail, messages: await shortenResults(reader, tail.messages, options.mark) }
  }

  let tail = await shown(budget, most)
  const count = countOf(options)
  if (!count) return tail
  for (let i = 0; i < widenings && tail.older > 0; i++) {
    const stored = sum(tail.messages, message => message.tokens)
    const counted = sum(tail.messages, message => count(message.blocks))
    if (counted >= budget * 0.75 || counted >= stored * 0.75) break
    // The rest of the budget goes as far as it went so far.
    const wider = await shown((budget * stored) / Math.max(1, counted), Math.min(most, widest))
    if (wider.older >= tail.older) break
    tail = wider
  }
  return tail
}

function wholeNumber(amount: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(amount))
}

function sum(messages: readonly Message[], of: (message: Message) => number): number {
  let total = 0
  for (const message of messages) total += of(message)
  return total
}
