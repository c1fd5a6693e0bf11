import type { MessageId } from '../core/ids.ts'
import type { BlobRef, Message } from '../core/message.ts'
import type { ReadOptions, Tail } from '../core/ports.ts'
import type { Summary } from '../core/records.ts'
import { estimateTokens } from '../core/tokens.ts'
import { budgetOf } from './budget.ts'
import { fit as fitInto } from './fit.ts'
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

/** The context at a message, and what it was made of. */
export interface ReadContext {
  readonly fitted: Fitted
  /** The end of the path, as far as it was read, oldest first. */
  readonly messages: readonly Message[]
  /** Messages of the path that lie before those, and their tokens. */
  readonly older: number
  readonly olderTokens: number
  /** The summary that stands for the beginning of the path, if there is one and it was asked for. */
  readonly summary: Summary | null
  /** What no summary stands for. With the summary's own tokens it tells whether the next one is due:
   *  see `needsSummary`. */
  readonly uncovered: { readonly messages: number; readonly tokens: number }
}

/** Reads what a model is to be given at this message: the newest part of its path, as much as the window holds, and
 *  the summary of what lies before, if there is one. Asks the store for a tail, never for the whole history. `head`
 *  is null where nothing has been said. */
export async function readContext(
  reader: ContextReader,
  head: MessageId | null,
  window: Window,
  pinned: Omit<Pinned, 'summary' | 'older'> = {},
  options: ReadContextOptions = {},
): Promise<ReadContext> {
  const tail = head === null ? nothing : await readTail(reader, head, window, options)
  const covering = options.summary === 'none' ? null : await newestSummary(reader, tail.messages)
  const given: Pinned = { ...pinned, ...covered(tail, covering) }
  const newest = tail.messages.at(-1)
  return {
    fitted: fitInto(tail.messages, window, given, countOf(options)),
    messages: tail.messages,
    older: tail.older,
    olderTokens: tail.olderTokens,
    summary: covering?.summary ?? null,
    uncovered: {
      messages: newest ? newest.depth + 1 - (covering?.messages ?? 0) : 0,
      tokens: newest ? newest.pathTokens - (covering?.tokens ?? 0) : 0,
    },
  }
}

const nothing: Tail = { messages: [], older: 0, olderTokens: 0 }

/** What the summary stands for is not missing: only what lies between it and the tail is. */
function covered(tail: Tail, covering: Covering | null): Pick<Pinned, 'summary' | 'older'> {
  if (!covering) return { older: tail.older }
  const { summary, messages } = covering
  return {
    summary: { text: summary.text, last: summary.last },
    older: Math.max(0, tail.older - messages),
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
    const limits = { tokens: Math.ceil(tokens), ...(Number.isFinite(messages) && { messages }) }
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

function sum(messages: readonly Message[], of: (message: Message) => number): number {
  let total = 0
  for (const message of messages) total += of(message)
  return total
}
