import { checkObject } from '../../core/check.ts'
import { ContextLengthError } from '../../core/errors.ts'
import type { Message } from '../../core/message.ts'
import type { ContextMessage } from '../../core/model.ts'
import { estimateTokens } from '../../core/tokens.ts'
import type { BlockCounter, Item } from '../view/item.ts'
import { viewOf } from '../view/view.ts'
import { countCharacters } from './count.ts'
import { exchangeOf, type Squeezed, squeeze } from './squeeze.ts'
import {
  budgetOf,
  type CountTokens,
  exceeds,
  type Fitted,
  type LeftOut,
  type LeftReason,
  type Pinned,
  type Room,
  roomFor,
  roomWithMargin,
  type Window,
} from './window.ts'

/** Makes the context of one call: the pinned texts, then the newest whole exchanges that fit, as `repair`
 *  shows them.
 *
 *  If everything fits, everything is in the context, unchanged. The newest message of the user is always in
 *  it, with the last step of its exchange; if that does not fit, `squeeze` shortens the exchange. If there is
 *  a message of the user, messages before the first one are left out, except those of the system.
 *
 *  Uses the token counts that are stored with the messages, unless `count` is given. `pinned.older` is the
 *  number of messages that precede the path and that no summary covers. Throws ContextLengthError if even the
 *  smallest possible context is too large.
 *
 * @example
 * ```ts
 * import { openStore, pathOf, textOf } from 'skein'
 * import { fit } from 'skein/context'
 *
 * await using store = await openStore(':memory:')
 * const { branch } = await store.create()
 * const { head } = await store.append(branch, null, [
 *   { role: 'user', content: 'An old question. '.repeat(40) },
 *   { role: 'assistant', content: 'An old answer. '.repeat(40) },
 *   { role: 'user', content: 'A new question.' },
 * ])
 *
 * const { messages, tokens } = fit(await pathOf(store, head), { limit: 100 }, { system: 'Be brief.' })
 * for (const message of messages) console.log(`${message.role}: ${textOf(message)}`)
 * // system: Be brief.
 * // system: [Note: 2 older messages truncated to stay within token limit]
 * // user: A new question.
 * console.log(tokens.total <= tokens.budget) // true
 * ```
 */
export function fit(
  path: readonly Message[],
  window: Window,
  pinned: Pinned = {},
  count?: CountTokens,
): Fitted {
  checkObject(window, 'window', 'a window, such as { limit: 32_768 }')
  const counter = counterFor(window, count)
  const { items: arranged, covered, unasked, missing } = arrange(path, pinned, counter)
  const { items, aged } = withoutAged(arranged, path, window.maxAgeMs)
  const pins = pin(pinned, count ?? estimateTokens)
  const left = leftovers()
  left.add(covered, 'summarised')
  left.add(unasked, 'no_question')
  left.add(aged, 'max_age')

  const budget = budgetOf(window)
  const noticeTokens = (messages: number) => (messages > 0 ? pins.notice(noticeText(messages)) : 0)
  const roomBeside = (messages: number): Room => ({
    tokens: budget - pins.tokens - noticeTokens(messages),
    messages: window.maxMessages ?? Number.POSITIVE_INFINITY,
    characters: window.maxChars ?? Number.POSITIVE_INFINITY,
  })
  const chosen =
    (missing === 0 ? everything(items, roomBeside(left.truncated())) : null) ??
    newest(items, tokensBefore(path), roomBeside(missing + path.length), window.keepRecent ?? 10, counter)
  left.add(chosen.older, chosen.reason ?? 'window')
  for (const { item, reason } of chosen.left) left.add([item], reason)

  const truncated = missing + left.truncated()
  const parts = { ...pins.parts, notice: noticeTokens(truncated), messages: roomFor(chosen.kept).tokens }
  const total = pins.tokens + parts.notice + parts.messages
  if (!chosen.fits) throw tooLong(window, budget, total, pins.tokens)
  return {
    messages: pins.messages(truncated).concat(chosen.kept.map(item => item.message)),
    left: left.list(),
    cut: chosen.cut.flatMap(([before, after]) => {
      const { id } = after.message
      return id === undefined ? [] : [{ id, tokensBefore: before.tokens, tokensAfter: after.tokens }]
    }),
    tokens: { ...parts, total, budget },
  }
}

function counterFor({ maxChars }: Window, count: CountTokens | undefined): BlockCounter {
  return {
    tokens: count ? blocks => count(blocks) : (blocks, stored) => stored ?? estimateTokens(blocks),
    characters: maxChars === undefined ? () => 0 : countCharacters,
  }
}

interface Arranged {
  /** What could be sent: texts of the system, then exchanges. */
  readonly items: readonly Item[]
  /** Messages of the path that the summary covers. */
  readonly covered: readonly Item[]
  /** Messages before the first message of the user. */
  readonly unasked: readonly Item[]
  /** How many messages before the path no summary covers. */
  readonly missing: number
}

/** Removes the messages that the summary covers, and those before the first message of the user, if there is
 *  one. If the summary's last message is not in the path, it precedes the path. */
function arrange(path: readonly Message[], { summary, older = 0 }: Pinned, counter: BlockCounter): Arranged {
  const view = viewOf(path, counter)
  const end = summary ? path.findLastIndex(({ id }) => id === summary.last) : -1
  const first = view.findIndex(item => item.opens)
  const isUnasked = (item: Item, i: number) => i < first && item.message.role !== 'system' && item.last > end
  const unasked = view.filter(isUnasked)
  const asked = unasked.length === 0 ? view : view.filter((item, i) => !isUnasked(item, i))
  if (end === -1) return { items: asked, covered: [], unasked, missing: older }
  const items = withoutCovered(asked, end)
  const kept = new Set(items)
  return { items, covered: asked.filter(item => !kept.has(item)), unasked, missing: 0 }
}

/** The messages without those that a summary covers, which ends at this index of the path. An exchange whose
 *  beginning is covered keeps its question, so that its later steps still have one; the newest exchange keeps
 *  its question and its last step in any case. */
function withoutCovered(items: readonly Item[], end: number): readonly Item[] {
  const isCovered = (some: readonly Item[]) => some.every(item => item.last <= end)
  const rest: Item[] = []
  for (let start = 0; start < items.length; ) {
    let next = start + 1
    while (next < items.length && !items[next]!.opens) next++
    const { head, steps } = exchangeOf(items.slice(start, next))
    const isNewest = next === items.length
    const remaining = steps.filter((step, i) => !isCovered(step) || (isNewest && i === steps.length - 1))
    const asked = head[0]?.opens === true && (remaining.length > 0 || isNewest)
    if (asked || !isCovered(head)) for (const item of head) rest.push(item)
    for (const item of remaining.flat()) rest.push(item)
    start = next
  }
  return rest
}

/** Removes the exchanges that ended too long before the newest message. Texts of the system stay, and so does
 *  the newest exchange. */
function withoutAged(
  items: readonly Item[],
  path: readonly Message[],
  maxAgeMs: number | undefined,
): { readonly items: readonly Item[]; readonly aged: readonly Item[] } {
  const first = items.findIndex(item => item.opens)
  if (maxAgeMs === undefined || first < 0) return { items, aged: [] }
  const since = path.at(-1)!.createdAt.getTime() - maxAgeMs
  let from = items.findLastIndex(item => item.opens)
  while (from > first && path[items[from - 1]!.last]!.createdAt.getTime() >= since)
    from = items.findLastIndex((item, i) => i < from && item.opens)
  return { items: items.slice(0, first).concat(items.slice(from)), aged: items.slice(first, from) }
}

interface Chosen extends Squeezed {
  /** The messages before the kept exchanges, and why they are left out. */
  readonly older: readonly Item[]
  readonly reason: LeftReason | null
}

function everything(items: readonly Item[], room: Room): Chosen | null {
  if (exceeds(roomFor(items), room) !== null) return null
  return { kept: items, left: [], cut: [], fits: true, older: [], reason: null }
}

/** The newest exchanges in a row that fit; if not even the last one does, the last one squeezed. Beyond the
 *  newest `keepRecent` messages a margin is kept free. `before` are the tokens that precede the path: with
 *  them, the margin does not depend on where reading began. */
function newest(
  items: readonly Item[],
  before: number,
  room: Room,
  keepRecent: number,
  counter: BlockCounter,
): Chosen {
  const question = items.findLastIndex(item => item.opens)
  const last = Math.max(0, question)
  const exchange = items.slice(last)
  const least = squeeze(exchange, room, keepRecent, counter)
  const narrower = { ...room, tokens: roomWithMargin(before + roomFor(items).tokens, room.tokens) }
  // If the last exchange had to be squeezed, no older message may take the freed space.
  let reason = exceeds(roomFor(exchange), room)
  const taken = roomFor(least.kept)
  let from = last
  for (let i = last - 1; i >= 0 && reason === null; i--) {
    taken.tokens += items[i]!.tokens
    taken.messages++
    taken.characters += items[i]!.characters
    reason = exceeds(taken, items.length - from < keepRecent ? room : narrower)
    const isWhole = items[i]!.opens || i === 0
    if (reason === null && isWhole) from = i
  }
  return { ...least, kept: items.slice(from, last).concat(least.kept), older: items.slice(0, from), reason }
}

function tokensBefore([oldest]: readonly Message[]): number {
  return oldest ? oldest.pathTokens - oldest.tokens : 0
}

function tooLong(window: Window, budget: number, needed: number, pinned: number): ContextLengthError {
  const { limit, maxChars } = window
  if (needed <= budget) {
    return new ContextLengthError(`the newest message has more than the ${maxChars} characters allowed`, {
      limit,
    })
  }
  const allowed = `${Math.max(0, budget)} of the window of ${limit} may be used`
  const what = `the newest message and what has to go with it need ${needed} tokens`
  const part = pinned > 0 ? `, ${pinned} of them for the system prompt, tools, notes and summary` : ''
  return new ContextLengthError(`${what}${part}, and ${allowed}`, { limit, needed })
}

/** Adds up the messages that are left out, by reason. */
function leftovers() {
  const byReason = new Map<LeftReason, { messages: number; tokens: number }>()
  return {
    add(items: readonly Item[], reason: LeftReason): void {
      if (items.length === 0) return
      const sum = byReason.get(reason) ?? { messages: 0, tokens: 0 }
      byReason.set(reason, sum)
      for (const { covers, tokens } of items) {
        sum.messages += covers
        sum.tokens += tokens
      }
    },
    /** Messages of the path that no summary covers. */
    truncated(): number {
      let messages = 0
      for (const [reason, sum] of byReason) if (reason !== 'summarised') messages += sum.messages
      return messages
    },
    list: (): readonly LeftOut[] => [...byReason].map(([reason, sum]) => ({ reason, ...sum })),
  }
}

/** The wording of S2-43. */
function noticeText(messages: number): string {
  return `[Note: ${messages} older messages truncated to stay within token limit]`
}

/** The wording of S2-39. */
function summaryText(summary: string): string {
  return `Previous conversation summary: ${summary}`
}

/** The pinned texts as system messages, with their tokens. */
function pin({ system, notes = [], summary, overhead = 0 }: Pinned, count: CountTokens) {
  const texts = {
    system: systemMessages([system ?? '']),
    notes: systemMessages(notes),
    summary: systemMessages(summary ? [summaryText(summary.text)] : []),
  }
  const tokensOf = (messages: readonly ContextMessage[]) =>
    messages.reduce((sum, { content: blocks }) => sum + count(blocks), 0)
  const parts = {
    system: tokensOf(texts.system),
    notes: tokensOf(texts.notes),
    summary: tokensOf(texts.summary),
    overhead,
  }
  return {
    /** Tokens of all parts, without the notice. */
    tokens: parts.system + parts.notes + parts.summary + overhead,
    parts,
    notice: (text: string): number => tokensOf(systemMessages([text])),
    /** The system prompt, the notes, the summary, and the notice if messages are missing. */
    messages: (missing: number): readonly ContextMessage[] => [
      ...texts.system,
      ...texts.notes,
      ...texts.summary,
      ...systemMessages(missing > 0 ? [noticeText(missing)] : []),
    ],
  }
}

/** Leaves out blank texts: providers refuse them. */
function systemMessages(texts: readonly string[]): readonly ContextMessage[] {
  return texts
    .filter(text => /\S/.test(text))
    .map(text => ({ role: 'system', content: [{ type: 'text', text: text.toWellFormed() }] }))
}
