import { ContextLengthError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import type { ContextMessage } from '../core/model.ts'
import { budgetOf } from './budget.ts'
import { charactersOf, countByCharacters } from './count.ts'
import {
  exchangesOf,
  messagesOf,
  type Sized,
  type Talk,
  unaskedExchange,
  withoutCovered,
} from './exchange.ts'
import type { CountTokens, Fitted, LeftReason, Pinned, Window } from './fitted.ts'
import { leftovers } from './leftovers.ts'
import { noticeText, pin } from './pin.ts'
import { type Room, squeeze, type Weigh } from './squeeze.ts'
import { type Item, viewOf } from './view.ts'

/** Makes a context: pinned things first, then the newest whole exchanges that fit, as `repair` shows them. If
 *  everything fits, everything is there, unchanged. The newest message of the user is always there, with the last
 *  step of what it began; if it does not fit, long results, old steps and long texts of its exchange give way.
 *  Counts are those stored with the messages, unless `count` is given. `pinned.older` counts messages that lie
 *  before the path and that no summary stands for.
 *  Throws ContextLengthError if even the least that has to be sent is too much. */
export function fit(
  path: readonly Message[],
  window: Window,
  pinned: Pinned = {},
  count?: CountTokens,
): Fitted {
  const weigh = scales(window, count)
  const { covered, missing, talk } = arrange(path, pinned, weigh)
  const pins = pin(pinned, count ?? countByCharacters)
  const left = leftovers()
  left.add(covered, 'summarised')
  left.add(talk.unasked, 'no_question')

  const budget = budgetOf(window)
  const older = missing + left.truncated()
  const room = (notice: number): Room => ({
    tokens: budget - pins.tokens - notice,
    messages: window.maxMessages ?? Number.POSITIVE_INFINITY,
    characters: window.maxChars ?? Number.POSITIVE_INFINITY,
  })
  const noticed = (messages: number) => (messages > 0 ? pins.notice(noticeText(messages)) : 0)
  const chosen =
    everything(talk, room(noticed(older))) ??
    newest(talk, room(noticed(missing + path.length)), window.keepRecent ?? 10, weigh)
  for (const { sized, reason } of chosen.left) left.add([sized], reason)

  const truncated = missing + left.truncated()
  const notice = truncated > 0 ? noticeText(truncated) : null
  const messages = chosen.kept.reduce((sum, { tokens }) => sum + tokens, 0)
  const tokens = { ...pins.parts, notice: noticed(truncated), messages }
  const total = pins.tokens + tokens.notice + messages
  if (!chosen.fits) throw tooLong(window, budget, total)
  return {
    messages: [...pins.messages(notice), ...chosen.kept.map(({ item }) => item.message)],
    left: left.list(),
    cut: chosen.cut.flatMap(([before, after]) => {
      const { id } = after.item.message
      return id === undefined ? [] : [{ id, tokensBefore: before.tokens, tokensAfter: after.tokens }]
    }),
    tokens: { ...tokens, total, budget },
  }
}

function scales(window: Window, count: CountTokens | undefined): Weigh {
  const measure = count ?? countByCharacters
  return item => {
    const { blocks } = item.message
    return {
      item,
      tokens: count ? count(blocks) : (item.tokens ?? measure(blocks)),
      characters: window.maxChars === undefined ? 0 : charactersOf(blocks),
    }
  }
}

interface Arranged {
  readonly talk: Talk
  /** What the summary stands for, of the path. */
  readonly covered: readonly Sized[]
  /** Messages before the path that nothing stands for. */
  readonly missing: number
}

/** Groups the view of the path and takes out what the summary stands for. If the summary's last message is not
 *  in the path, it lies before it. */
function arrange(path: readonly Message[], { summary, older = 0 }: Pinned, weigh: Weigh): Arranged {
  const view = viewOf(path).map(weigh)
  const end = summary ? path.findLastIndex(({ id }) => id === summary.last) : -1
  const whole = asked(exchangesOf(view), weigh)
  if (end === -1) return { talk: whole, covered: [], missing: older }
  const remain = ({ item }: Sized) => item.last > end
  const talk = {
    preface: whole.preface.filter(remain),
    unasked: whole.unasked.filter(remain),
    exchanges: withoutCovered(whole.exchanges, end),
  }
  const kept = new Set([...talk.preface, ...talk.unasked, ...talk.exchanges.flatMap(messagesOf)])
  return { talk, covered: view.filter(sized => !kept.has(sized)), missing: 0 }
}

const opening: ContextMessage = {
  role: 'user',
  blocks: [{ type: 'text', text: '[the conversation begins without a question]' }],
}

/** A conversation must begin with the user. Where no user ever spoke, a label stands for the question. */
function asked(talk: Talk, weigh: Weigh): Talk {
  if (talk.exchanges.length > 0 || talk.unasked.length === 0) return talk
  const label: Item = { message: opening, opens: true, tokens: null, stands: 0, last: -1 }
  return { ...talk, unasked: [], exchanges: [unaskedExchange(weigh(label), talk.unasked)] }
}

interface Chosen {
  readonly kept: readonly Sized[]
  readonly left: readonly { readonly sized: Sized; readonly reason: LeftReason }[]
  readonly cut: readonly (readonly [before: Sized, after: Sized])[]
  readonly fits: boolean
}

function everything({ preface, exchanges }: Talk, room: Room): Chosen | null {
  const kept = [...preface, ...exchanges.flatMap(messagesOf)]
  return exceeds(weightOf(kept), room) ? null : { kept, left: [], cut: [], fits: true }
}

/** The newest exchanges in a row that fit; if not even the last one does, what can be made of it. */
function newest({ preface, exchanges }: Talk, room: Room, keepRecent: number, weigh: Weigh): Chosen {
  const last = exchanges.at(-1)
  const groups = [preface, ...exchanges.slice(0, -1).map(messagesOf)].filter(group => group.length > 0)
  const least = squeeze(last ?? { head: [], steps: [] }, room, keepRecent, weigh)
  let taken = weightOf(least.kept)
  // Where the last exchange had to give way, nothing older may take the place.
  let reason: LeftReason | null = least.left[0]?.reason ?? (least.cut.length > 0 ? 'window' : null)
  const kept: Sized[][] = [[...least.kept]]
  const left = [...least.left]
  for (const group of groups.toReversed()) {
    const weight = weightOf(group)
    const sum = {
      tokens: taken.tokens + weight.tokens,
      messages: taken.messages + weight.messages,
      characters: taken.characters + weight.characters,
    }
    reason ??= exceeds(sum, room)
    if (reason !== null) {
      for (const sized of group) left.push({ sized, reason })
      continue
    }
    taken = sum
    kept.push([...group])
  }
  return { ...least, kept: kept.reverse().flat(), left }
}

function weightOf(messages: readonly Sized[]): Room {
  let tokens = 0
  let characters = 0
  for (const sized of messages) {
    tokens += sized.tokens
    characters += sized.characters
  }
  return { tokens, messages: messages.length, characters }
}

function exceeds(weight: Room, room: Room): LeftReason | null {
  if (weight.tokens > room.tokens) return 'window'
  if (weight.messages > room.messages) return 'max_messages'
  return weight.characters > room.characters ? 'max_chars' : null
}

function tooLong(window: Window, budget: number, needed: number): ContextLengthError {
  const limit = window.limit
  if (needed <= budget)
    return new ContextLengthError(`the newest message has more than ${window.maxChars} characters`, { limit })
  return new ContextLengthError(
    `the newest message needs ${needed} tokens with all that has to go with it: ${Math.max(0, budget)} of the window of ${limit} may be used`,
    { limit, needed },
  )
}
