import {
  BusyError,
  ContextLengthError,
  ExpiredError,
  type Holder,
  ModelError,
  NotFoundError,
} from '../core/errors.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import { textOf } from '../core/message.ts'
import type { Model } from '../core/model.ts'
import type { TurnWriter } from '../core/ports.ts'
import type { MessageRange, Summary } from '../core/summary.ts'
import { estimateTokens } from '../core/tokens.ts'
import { addUsage, type Usage } from '../core/turn.ts'
import { shorten, type TextMessage } from './as-text.ts'
import { type Claim, claimRange, type Later } from './claim-range.ts'
import { extract, extractive } from './extract.ts'
import type { Window } from './fitted.ts'
import type { SummaryReader } from './newest-summary.ts'
import { readUncovered, type Told } from './read-uncovered.ts'
import { coverable, keptVerbatim } from './summary-plan.ts'
import { chunksOf, roomIn, type SummaryRoom, summaryRequest } from './summary-prompt.ts'

/** What summarising needs of a store. */
export type SummaryStore = SummaryReader & Pick<TurnWriter, 'claimSummary' | 'putSummary'>

export interface SummarizeOptions {
  /** Who writes the summary. */
  readonly model: Model
  /** The window of that model. */
  readonly window: Window
  /** Who this process is. */
  readonly holder: Holder
  /** Calls later, so that the claim can be renewed while the model thinks: a timer of the caller's. */
  readonly after: Later
  /** The newest messages that stay as they are; 10 unless said otherwise. */
  readonly keepRecent?: number
  /** Tokens that the summary may have; a tenth of the window unless said otherwise. */
  readonly maxTokens?: number
  /** What else the model should mind. */
  readonly instructions?: string
  readonly signal?: AbortSignal
}

export interface SummaryOutcome {
  /** `made` by the model; `extractive` because the model failed; `reused`: it had been made before; `busy`: somebody
   *  else is at it, go on without; `nothing`: there is nothing old enough, or it was deleted meanwhile. */
  readonly outcome: 'made' | 'extractive' | 'reused' | 'busy' | 'nothing'
  /** The summary that stands for the beginning of the path now; null if there is none. */
  readonly summary: Summary | null
  /** Messages it stands for that no summary stood for before. */
  readonly messages: number
  /** What the model's calls cost. */
  readonly usage: Usage
  /** What went wrong with the model, or who is at it. */
  readonly error: unknown
}

/** Summarises the beginning of a path: all but its newest messages, without parting a call from its result. Takes the
 *  last summary and what came after it; what is too much for one call of the model goes through it piece by piece.
 *  The summary is stored beside the messages, and never made twice: whoever comes second gets the stored one, or
 *  learns that somebody is at it, in whatever process. If the model fails, the words themselves are extracted.
 *  Throws the signal's reason if that was aborted, and what the store throws; then nothing is stored.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { summarize } from 'skein/context'
 * import { scripted } from 'skein/models'
 * import { systemRecorderSource, thisHolder } from 'skein/recorder'
 *
 * await using store = await openStore(':memory:')
 * const { conversation, branch } = await store.create()
 * let head = branch.head
 * for (let day = 1; day <= 20; day++) {
 *   const words = `Day ${day}: calm sea, wind from the west.`
 *   head = (await store.append(branch, head, [{ role: 'user', blocks: words }])).head
 * }
 *
 * const { outcome } = await summarize(
 *   store,
 *   { conversationId: conversation.id, head: head! },
 *   {
 *     model: scripted({ script: ['A calm voyage.'] }),
 *     window: { limit: 1_000 },
 *     holder: thisHolder(),
 *     after: systemRecorderSource.after,
 *   },
 * )
 * const [summary] = await store.listSummaries(conversation.id)
 * console.log(outcome, summary?.text) // made A calm voyage.
 * ```
 */
export async function summarize(
  store: SummaryStore,
  { conversationId, head }: { readonly conversationId: ConversationId; readonly head: MessageId },
  options: SummarizeOptions,
): Promise<SummaryOutcome> {
  options.signal?.throwIfAborted()
  const { messages, previous } = await readUncovered(store, conversationId, head)
  const count = coverable(messages, options.keepRecent ?? keptVerbatim)
  const told = messages.slice(0, count)
  const last = told.at(-1)
  // Never of the root alone: its claim is what keeps others from the conversation, and must stay unfilled.
  if (!last || (count === 1 && !previous)) {
    return { ...without, outcome: previous ? 'reused' : 'nothing', summary: previous }
  }
  const range: MessageRange = { first: previous?.first ?? told[0]!.id, last: last.id }
  const claim = await claimRange(store, conversationId, range, options)
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
      holder: options.holder,
    })
    return { outcome: error === null ? 'made' : 'extractive', summary, messages: count, usage, error }
  } catch (error) {
    options.signal?.throwIfAborted()
    // The claim ran out while this process stood still, and another took it.
    if (error instanceof ExpiredError || error instanceof BusyError) {
      return { ...without, outcome: 'busy', summary: previous, usage, error }
    }
    if (error instanceof NotFoundError) return { ...without, usage, error }
    throw error
  } finally {
    claim.end()
  }
}

/** A store takes no half characters and no NUL; models and people do write them. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '')
}

const without: SummaryOutcome = { outcome: 'nothing', summary: null, messages: 0, usage: {}, error: null }

/** Calls of the model for one summary at most. What is more, of a long history that nobody ever summarised, is
 *  extracted: a thousand calls would be no help to anybody who waits for an answer. */
const mostCalls = 16

interface Written {
  readonly text: string
  readonly usage: Usage
  /** Why the end of it, or all, is extracted; null if the model wrote it. */
  readonly error: unknown
}

async function write(
  told: readonly Told[],
  previous: string | null,
  claim: Extract<Claim, { state: 'claimed' }>,
  options: SummarizeOptions,
): Promise<Written> {
  const room = roomIn(options.window, options.instructions ?? '', options.maxTokens)
  const chunks = chunksOf(told, room)
  const skipped = chunks.slice(0, Math.max(0, chunks.length - mostCalls)).flat()
  const waiting: (readonly TextMessage[])[] = chunks.slice(-mostCalls)
  let soFar = skipped.length > 0 ? extract(skipped, { tokens: room.summary, previous }) : previous
  let usage: Usage = {}
  let halvings = 6
  while (waiting.length > 0) {
    const chunk = waiting[0]!
    try {
      const answer = await ask(chunk, soFar, room, claim.signal, options)
      usage = addUsage(usage, answer.usage)
      soFar = answer.text
      waiting.shift()
    } catch (error) {
      // Whoever aborted decides: the caller, or whoever took the claim.
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

async function ask(
  messages: readonly TextMessage[],
  soFar: string | null,
  room: SummaryRoom,
  signal: AbortSignal,
  { model, instructions = '' }: SummarizeOptions,
): Promise<{ text: string; usage: Usage }> {
  const request = {
    messages: summaryRequest(messages, soFar, room, instructions),
    // Some models think before they answer, and that counts too.
    maxOutput: room.summary * 2,
    signal,
  }
  for await (const event of model.stream(request)) {
    if (event.type !== 'answer') continue
    const { blocks, finish, usage } = event.answer
    const text = textOf({ blocks }).trim()
    if (text === '' || finish === 'filtered') throw new ModelError(model.id, 'answered without a summary')
    return { text: shorten(text, room.summary * 5), usage }
  }
  signal.throwIfAborted()
  throw new ModelError(model.id, 'the stream ended without an answer')
}
