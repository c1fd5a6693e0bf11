import { checkObject } from '../../core/check.ts'
import {
  BusyError,
  ContextLengthError,
  ExpiredError,
  type Holder,
  ModelError,
  NotFoundError,
} from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { textOf } from '../../core/message.ts'
import type { Model } from '../../core/model.ts'
import type { MessageRange, Summary } from '../../core/summary.ts'
import { estimateTokens } from '../../core/tokens.ts'
import { addUsage, type Usage } from '../../core/turn.ts'
import type { TurnWriter } from '../../core/turn-writer.ts'
import { type RecorderSource, systemRecorderSource } from '../../system/source.ts'
import { windowOf } from '../fit/model-windows.ts'
import type { Window } from '../fit/window.ts'
import { shorten, type TextMessage } from '../text/as-text.ts'
import { claimRange, type RangeClaim } from './claim-range.ts'
import { extract, extractive } from './extract.ts'
import type { ContextReader } from './newest-summary.ts'
import { type LeanMessage, readUncovered } from './read-uncovered.ts'
import { coverable, keptVerbatim } from './summary-plan.ts'
import { chunksOf, roomIn, type SummaryRoom, summaryRequest } from './summary-prompt.ts'

/** The methods of a store that `summarize` needs. */
export type SummaryStore = ContextReader & Pick<TurnWriter, 'leaseMs' | 'claimSummary' | 'putSummary'>

/** Which model summarizes, and how much. */
export interface SummarizeOptions {
  /** The model that writes the summary. */
  readonly model: Model
  /** The window of that model. Default: from the table of known models. */
  readonly window?: Window
  /** The holder of the claim. Default: this process. */
  readonly holder?: Holder
  /** A timer, to renew the claim while the model works. Default: `setTimeout`. */
  readonly after?: RecorderSource['after']
  /** The newest messages, which are not summarized. Default: 10. */
  readonly keepRecent?: number
  /** Most tokens of the summary. Default: a tenth of the window. */
  readonly maxTokens?: number
  /** Further instructions for the model. */
  readonly instructions?: string
  /** Stops the summary with the signal's reason. Nothing is stored then. */
  readonly signal?: AbortSignal
}

/** What `summarize` has done. */
export interface SummaryOutcome {
  /** `made` by the model; `extractive`: made of quotations because the model failed; `reused`: it existed
   *  already; `busy`: another process or call is summarizing; `nothing`: no message is old enough, or they
   *  were deleted meanwhile. */
  readonly outcome: 'made' | 'extractive' | 'reused' | 'busy' | 'nothing'
  /** The summary that covers the beginning of the path now; null if there is none. */
  readonly summary: Summary | null
  /** How many messages it covers that no summary covered before. */
  readonly messages: number
  /** The usage of the model's calls. */
  readonly usage: Usage
  /** The error of the model, or the BusyError with the other holder. */
  readonly error: unknown
}

/** Summarizes the beginning of a path: all except its newest messages, without separating a call from its
 *  result. The input is the last summary and the messages after it; if that is too long for one call of the
 *  model, it is processed in pieces. The summary is stored next to the messages and made only once: a second
 *  caller gets the stored one, or `busy` if another process is summarizing. If the model fails, the summary
 *  is made of quotations (`extract`). Throws the signal's reason if it is aborted, and the errors of the
 *  store; nothing is stored then.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { summarize } from 'skein/context'
 * import { scripted } from 'skein/models'
 *
 * await using store = await openStore(':memory:')
 * const { conversation, branch } = await store.create()
 * let head = branch.head
 * for (let day = 1; day <= 20; day++) {
 *   const words = `Day ${day}: calm sea, wind from the west.`
 *   head = (await store.append(branch, head, [{ role: 'user', content: words }])).head
 * }
 *
 * const { outcome, summary } = await summarize(
 *   store,
 *   { conversationId: conversation.id, head: head! },
 *   { model: scripted({ script: ['A calm voyage.'] }) },
 * )
 * console.log(outcome, summary?.text) // made A calm voyage.
 * ```
 */
export async function summarize(
  store: SummaryStore,
  place: { readonly conversationId: ConversationId; readonly head: MessageId },
  options: SummarizeOptions,
): Promise<SummaryOutcome> {
  checkObject(place, 'place', 'an object with conversationId and head')
  checkObject(options, 'options', 'an object with a model')
  const { conversationId, head } = place
  const { holder = systemRecorderSource.holder(), after = systemRecorderSource.after } = options
  options.signal?.throwIfAborted()
  const { messages, previous } = await readUncovered(store, conversationId, head)
  const count = coverable(messages, options.keepRecent ?? keptVerbatim)
  const told = messages.slice(0, count)
  const last = told.at(-1)
  // Never of the root alone: its claim is the lock of the conversation, and must not get a summary.
  if (!last || (count === 1 && !previous)) {
    return { ...without, outcome: previous ? 'reused' : 'nothing', summary: previous }
  }
  const range: MessageRange = { first: previous?.first ?? told[0]!.id, last: last.id }
  const claim = await claimRange(store, conversationId, range, { ...options, holder, after })
  if (claim.state === 'busy') return { ...without, outcome: 'busy', summary: previous, error: claim.error }
  if (claim.state === 'made')
    return { ...without, outcome: 'reused', summary: claim.summary, messages: count }
  let usage: Usage = {}
  try {
    const written = await write(told, previous?.text ?? null, claim, options)
    const { error } = written
    const text = storable(written.text)
    usage = written.usage
    const model = error === null ? options.model.id : extractive
    const tokens = estimateTokens(text)
    const summary = await store.putSummary(conversationId, {
      ...range,
      text,
      tokens,
      model,
      holder,
    })
    return { outcome: error === null ? 'made' : 'extractive', summary, messages: count, usage, error }
  } catch (error) {
    options.signal?.throwIfAborted()
    // The claim expired while this process was suspended, and another process has it now.
    if (error instanceof ExpiredError || error instanceof BusyError) {
      return { ...without, outcome: 'busy', summary: previous, usage, error }
    }
    if (error instanceof NotFoundError) return { ...without, usage, error }
    throw error
  } finally {
    claim.end()
  }
}

/** A store refuses unpaired surrogates and NUL, which models and people do write. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '')
}

const without: SummaryOutcome = { outcome: 'nothing', summary: null, messages: 0, usage: {}, error: null }

/** Most calls of the model for one summary. The rest of a very long history is quoted instead: the user waits
 *  for an answer and should not wait for a thousand calls. */
const mostCalls = 16

interface Written {
  readonly text: string
  readonly usage: Usage
  /** Why its end, or all of it, is made of quotations; null if the model wrote it. */
  readonly error: unknown
}

async function write(
  told: readonly LeanMessage[],
  previous: string | null,
  claim: Extract<RangeClaim, { state: 'claimed' }>,
  options: SummarizeOptions,
): Promise<Written> {
  const room = roomIn(
    options.window ?? windowOf(options.model.id),
    options.instructions ?? '',
    options.maxTokens,
  )
  const chunks = chunksOf(told, room)
  const skipped = chunks.slice(0, Math.max(0, chunks.length - mostCalls)).flat()
  const waiting: (readonly TextMessage[])[] = chunks.slice(-mostCalls)
  let soFar = skipped.length > 0 ? extract(skipped, { tokens: room.summary, previous }) : previous
  let usage: Usage = {}
  let halvings = 6
  while (waiting.length > 0) {
    const chunk = waiting[0]!
    try {
      const answer = await callSummarizer(chunk, soFar, room, claim.signal, options)
      usage = addUsage(usage, answer.usage)
      soFar = answer.text
      waiting.shift()
    } catch (error) {
      // Throws the reason of the caller's signal, or the BusyError of a lost claim.
      claim.signal.throwIfAborted()
      if (error instanceof ContextLengthError && chunk.length > 1 && halvings-- > 0) {
        const half = Math.ceil(chunk.length / 2)
        waiting.splice(0, 1, chunk.slice(0, half), chunk.slice(half))
        continue
      }
      return { text: extract(waiting.flat(), { tokens: room.summary, previous: soFar }), usage, error }
    }
  }
  return { text: soFar!, usage, error: null }
}

async function callSummarizer(
  messages: readonly TextMessage[],
  soFar: string | null,
  room: SummaryRoom,
  signal: AbortSignal,
  { model, instructions = '' }: SummarizeOptions,
): Promise<{ text: string; usage: Usage }> {
  const request = {
    messages: summaryRequest(messages, soFar, room, instructions),
    // The output of some models includes their thinking.
    maxOutput: room.summary * 2,
    signal,
  }
  for await (const event of model.stream(request)) {
    if (event.type !== 'answer') continue
    const { content, finish, usage } = event.answer
    const text = textOf({ content }).trim()
    if (text === '' || finish === 'filtered' || finish === 'refused')
      throw new ModelError(model.id, 'answered without a summary')
    return { text: shorten(text, room.summary * 5), usage }
  }
  signal.throwIfAborted()
  throw new ModelError(model.id, 'the stream ended without an answer')
}
