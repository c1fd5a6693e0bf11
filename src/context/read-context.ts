import { checkObject } from '../core/check.ts'
import type { MessageId } from '../core/ids.ts'
import type { BlobRef, Message } from '../core/message.ts'
import type { ReadOptions } from '../core/ports.ts'
import type { Summary } from '../core/summary.ts'
import { type Tail, type TailBudget, withTurnStart } from '../core/tail.ts'
import { fit } from './fit/fit.ts'
import { budgetOf, type CountTokens, type Fitted, type Pinned, type Window } from './fit/window.ts'
import { type ContextReader, type CoveringSummary, newestSummary } from './summary/newest-summary.ts'
import { shortenResults } from './view/shorten-results.ts'

/** What `readContext` reads, and how it counts. */
export interface ReadContextOptions {
  /** Counts tokens, instead of the counts that are stored with the messages. */
  readonly count?: CountTokens
  /** `none` shows messages that a summary covers. Default: `newest`. */
  readonly summary?: 'newest' | 'none'
  /** `preview` shows only the beginning of results that are stored in blobs. Default: `whole`. */
  readonly toolResults?: 'whole' | 'preview'
  /** The mark after the beginning of a result, such as a hint how to read the rest. */
  readonly mark?: (rest: BlobRef) => string
  /** Leaves out the messages of turns that are still open. */
  readonly wholeTurns?: boolean
}

/** The newest part of a path, as much as a window needs, and the summary of the rest. */
export interface ReadHistory {
  /** The part of the path that was read, oldest first. */
  readonly messages: readonly Message[]
  /** How many messages of the path precede those, and their tokens. */
  readonly older: number
  /** The tokens of the older messages, as stored. */
  readonly olderTokens: number
  /** The summary of the beginning of the path, if there is one and `options.summary` is not `none`. */
  readonly summary: Summary | null
  /** How many of the older messages no summary covers: `pinned.older` of `fit`. */
  readonly missing: number
  /** How many messages and tokens of the whole path no summary covers. `needsSummary` decides by them. */
  readonly uncovered: { readonly messages: number; readonly tokens: number }
}

/** The context at a message, and the history that it was made of. */
export interface ReadContext extends ReadHistory {
  /** The context for the model, and what is not in it. */
  readonly fitted: Fitted
}

/** Reads the context at a message: the newest part of its path, as much as the window holds, and the summary
 *  of the rest, if there is one. Reads a tail from the store, never the whole history. `head` is null for an
 *  empty branch. Throws the errors of `fit`.
 *
 * @example
 * ```ts
 * import { openStore, textOf } from 'skein'
 * import { readContext, windowOf } from 'skein/context'
 *
 * await using store = await openStore(':memory:')
 * const { branch } = await store.create()
 * const { head } = await store.append(branch, null, [{ role: 'user', content: 'Why is the build red?' }])
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
  return { ...history, fitted: fit(history.messages, window, given, options.count) }
}

/** The same without `fit`, for callers that add messages before they call it. */
export async function readHistory(
  reader: ContextReader,
  head: MessageId | null,
  window: Window,
  options: ReadContextOptions = {},
): Promise<ReadHistory> {
  checkObject(window, 'window', 'a window, such as { limit: 32_768 }')
  const tail = head === null ? nothing : await readTail(reader, head, window, options)
  // A summary may cover the part between the beginning of a long turn and the rest.
  const unbroken = tail.turnStart === null ? tail.messages : tail.messages.slice(1)
  const covering = options.summary === 'none' ? null : await newestSummary(reader, unbroken)
  return {
    messages: tail.messages,
    older: tail.older,
    olderTokens: tail.olderTokens,
    summary: covering?.summary ?? null,
    missing: Math.max(0, tail.older - (covering?.messages ?? 0)),
    uncovered: uncovered(tail, covering, options.count),
  }
}

const nothing: Tail = { messages: [], turnStart: null, older: 0, olderTokens: 0 }

/** Messages that were read count as they are shown; older ones by their stored counts. */
function uncovered(tail: Tail, covering: CoveringSummary | null, count: CountTokens | undefined) {
  const from = covering?.messages ?? 0
  const read = tail.messages.filter(message => message.depth >= from)
  const before = Math.max(0, tail.olderTokens - (covering?.tokens ?? 0))
  return {
    messages: Math.max(0, tail.older - from) + read.length,
    tokens: before + sum(read, message => (count ? count(message.content) : message.tokens)),
  }
}

/** A turn that exceeds the window is read up to this multiple of the budget: `fit` shortens its older tool
 *  results before it leaves any out. */
const oversize = 4

/** How often a longer tail is read because the messages count for less than their stored counts, and the most
 *  messages of such a read. */
const widenings = 3
const widest = 2_000

async function readTail(
  reader: ContextReader,
  head: MessageId,
  window: Window,
  options: ReadContextOptions,
): Promise<Tail> {
  const { tokens: budget, messages: most } = sizeOf(window)
  const read: ReadOptions = {
    ...(options.toolResults === 'preview' && { blobs: 'preview' }),
    ...(options.wholeTurns && { wholeTurns: true }),
  }
  const shown = async (tokens: number, messages: number): Promise<Tail> => {
    const tail = withTurnStart(await reader.tail(head, wholeNumbers({ tokens, messages }), read))
    if (options.toolResults !== 'preview') return tail
    return { ...tail, messages: await shortenResults(reader, tail.messages, options.mark) }
  }

  let tail = await shown(budget, most)
  if (tail.turnStart !== null) tail = await shown(budget * oversize, most * oversize)
  const { count } = options
  for (let i = 0; i < widenings && tail.older > 0; i++) {
    const stored = tail.messages.at(-1)!.pathTokens - tail.olderTokens
    const counted = sum(tail.messages, message => (count ? count(message.content) : message.tokens))
    if (counted >= budget * 0.75 || counted >= stored * 0.75) break
    // Assumes the same ratio of counted to stored tokens for the rest.
    const wider = await shown((budget * stored) / Math.max(1, counted), Math.min(most, widest))
    if (wider.older >= tail.older) break
    tail = wider
  }
  return tail
}

/** The budget of the first tail that a context of this window reads. Throws InvalidError for an invalid
 *  window. */
export function tailBudgetOf(window: Window): Required<TailBudget> {
  return wholeNumbers(sizeOf(window))
}

/** How much of a path a window holds. */
function sizeOf(window: Window): Required<TailBudget> {
  const { maxMessages = Number.POSITIVE_INFINITY, maxLoaded = Number.POSITIVE_INFINITY } = window
  return { tokens: Math.max(1, budgetOf(window)), messages: Math.max(1, Math.min(maxMessages, maxLoaded)) }
}

function wholeNumbers({ tokens, messages }: Required<TailBudget>): Required<TailBudget> {
  return { tokens: wholeNumber(tokens), messages: wholeNumber(messages) }
}

function wholeNumber(amount: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(amount))
}

function sum(messages: readonly Message[], of: (message: Message) => number): number {
  let total = 0
  for (const message of messages) total += of(message)
  return total
}
