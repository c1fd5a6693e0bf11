import { ContextLengthError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import { budgetOf } from './budget.ts'
import { charactersOf, countByCharacters } from './count.ts'
import { withoutCovered } from './exchange.ts'
import type { CountTokens, Fitted, LeftReason, Pinned, Window } from './fitted.ts'
import type { Item, Scales } from './item.ts'
import { leftovers } from './leftovers.ts'
import { roomWithMargin } from './margin.ts'
import { noticeText, pin } from './pin.ts'
import { exceeds, type Room, roomFor } from './room.ts'
import { type Squeezed, squeeze } from './squeeze.ts'
import { viewOf } from './view.ts'

/** Makes a context: pinned things first, then the newest whole exchanges that fit, as `repair` shows them. If
 *  everything fits, everything is there, unchanged. The newest message of the user is always there, with the last
 *  step of what it began; if it does not fit, long results, old steps and long texts of its exchange give way.
 *  What was said before the first question by anybody but the system is left out, if there is a question.
 *  Counts are those stored with the messages, unless `count` is given. `pinned.older` counts messages that lie
 *  before the path and that no summary stands for.
 *  Throws ContextLengthError if even the least that has to be sent is too much.
 *
 * @example
 * ```ts
 * import { openStore, textOf } from 'skein'
 * import { fit } from 'skein/context'
 *
 * await using store = await openStore(':memory:')
 * const { branch } = await store.create()
 * const { head } = await store.append(branch, null, [
 *   { role: 'user', blocks: 'An old question. '.repeat(40) },
 *   { role: 'assistant', blocks: 'An old answer. '.repeat(40) },
 *   { role: 'user', blocks: 'A new question.' },
 * ])
 *
 * const { messages, tokens } = fit(await store.path(head), { limit: 100 }, { system: 'Be brief.' })
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
  const scales = scalesFor(window, count)
  const { items, covered, unasked, missing } = arrange(path, pinned, scales)
  const pins = pin(pinned, count ?? countByCharacters)
  const left = leftovers()
  left.add(covered, 'summarised')
  left.add(unasked, 'no_question')

  const budget = budgetOf(window)
  const noticed = (messages: number) => (messages > 0 ? pins.notice(noticeText(messages)) : 0)
  const roomBeside = (messages: number): Room => ({
    tokens: budget - pins.tokens - noticed(messages),
    messages: window.maxMessages ?? Number.POSITIVE_INFINITY,
    characters: window.maxChars ?? Number.POSITIVE_INFINITY,
  })
  const chosen =
    (missing === 0 ? everything(items, roomBeside(left.truncated())) : null) ??
    newest(items, tokensBefore(path), roomBeside(missing + path.length), window.keepRecent ?? 10, scales)
  left.add(chosen.older, chosen.reason ?? 'window')
  for (const { item, reason } of chosen.left) left.add([item], reason)

  const truncated = missing + left.truncated()
  const parts = { ...pins.parts, notice: noticed(truncated), messages: roomFor(chosen.kept).tokens }
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

function scalesFor({ maxChars }: Window, count: CountTokens | undefined): Scales {
  return {
    tokens: count ? blocks => count(blocks) : (blocks, stored) => stored ?? countByCharacters(blocks),
    characters: maxChars === undefined ? () => 0 : charactersOf,
  }
}

interface Arranged {
  /** What could be sent: texts of the system, then exchanges. */
  readonly items: readonly Item[]
  /** What the summary stands for, of the path. */
  readonly covered: readonly Item[]
  /** What was said before anybody asked. */
  readonly unasked: readonly Item[]
  /** Messages before the path that nothing stands for. */
  readonly missing: number
}

/** Takes out what the summary stands for, and what answers no question if there is one at all. If the summary's
 *  last message is not in the path, it lies before it. */
function arrange(path: readonly Message[], { summary, older = 0 }: Pinned, scales: Scales): Arranged {
  const view = viewOf(path, scales)
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

interface Chosen extends Squeezed {
  /** What lies before the exchanges that are kept, and why it is not. */
  readonly older: readonly Item[]
  readonly reason: LeftReason | null
}

function everything(items: readonly Item[], room: Room): Chosen | null {
  if (exceeds(roomFor(items), room) !== null) return null
  return { kept: items, left: [], cut: [], fits: true, older: [], reason: null }
}

/** The newest exchanges in a row that fit; if not even the last one does, what can be made of it. Beyond the newest
 *  `keepRecent` messages a margin is left. `before` are the tokens that lie before the path: with them the margin is
 *  the same wherever reading began. */
function newest(
  items: readonly Item[],
  before: number,
  room: Room,
  keepRecent: number,
  scales: Scales,
): Chosen {
  const question = items.findLastIndex(item => item.opens)
  const last = Math.max(0, question)
  const exchange = items.slice(last)
  const least = squeeze(exchange, room, keepRecent, scales)
  const narrower = { ...room, tokens: roomWithMargin(before + roomFor(items).tokens, room.tokens) }
  // Where the last exchange had to give way, nothing older may take the place.
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
