import { fence } from '../../context/text/guard-lines.ts'
import type { Message } from '../../core/message.ts'
import { blockText } from '../transcript/answer-text.ts'
import type { Heard } from '../transcript/heard.ts'
import { isToldAs } from './told-turn.ts'
import { type MessageText, withoutSpace } from './turn-text.ts'

/** A replay, prepared for searching: steps 1 and 4 of `missingMessages`. All texts are without white space.
 *  Positions are numbers that grow along the replay: user text takes one position per character, anything
 *  else is at half positions between two user texts. */
export interface ReplayIndex {
  /** Positions where a message of the user may end, in order. */
  readonly userEnds: readonly UserEnd[]
  /** Everything else, in order. */
  readonly entries: readonly ReplayEntry[]
}

/** A position where a message of the user may end: the end of a chunk, or of a line in an injected
 *  history. */
export interface UserEnd {
  readonly at: number
  /** The uninterrupted user text up to this position. */
  readonly text: string
  readonly kind: 'said' | 'injected'
  /** Where the chunk itself begins. */
  readonly from: number
}

/** An `injected` entry is a line of an assistant in a history that we once injected into a prompt. */
export type ReplayEntry =
  | { readonly type: 'answer' | 'injected'; readonly at: number; readonly text: string }
  | { readonly type: 'call'; readonly at: number; readonly callId: string }

/** Reads a replay. Consecutive chunks of user text are one text, and each chunk may end a message: agents
 *  split messages, join them, and add texts of their own before and after. */
export function indexReplay(replay: readonly Heard[]): ReplayIndex {
  const userEnds: UserEnd[] = []
  const entries: ReplayEntry[] = []
  let position = 0
  let chunks: string[] = []

  function endUserText(): void {
    if (chunks.length === 0) return
    position = indexUserText(chunks, position, userEnds, entries) + 1
    chunks = []
  }

  for (const heard of replay) {
    if (heard.type === 'user') chunks.push(blockText(heard.block))
    else if (heard.type === 'answer') {
      endUserText()
      entries.push({ type: 'answer', at: position - 0.5, text: withoutSpace(blockText(heard.block)) })
    } else if (heard.type === 'call') {
      endUserText()
      entries.push({ type: 'call', at: position - 0.5, callId: heard.call.callId })
    }
  }
  endUserText()
  return { userEnds, entries }
}

/** Adds consecutive chunks of user text. Returns the position of their end. */
function indexUserText(
  chunks: readonly string[],
  start: number,
  userEnds: UserEnd[],
  entries: ReplayEntry[],
): number {
  const text = withoutSpace(chunks.join(''))
  const found: { at: number; add(): void }[] = []
  let at = start
  for (const chunk of chunks) {
    const from = at
    at += withoutSpace(chunk).length
    const end: UserEnd = { at, from, text: text.slice(0, at - start), kind: 'said' }
    found.push({ at, add: () => userEnds.push(end) })
  }
  for (const line of injectedLines(chunks.join(''))) {
    const end = start + line.end
    const { text } = line
    found.push({
      at: end,
      add: () => {
        if (text.startsWith('User:'))
          userEnds.push({ at: end, from: end - text.length, text, kind: 'injected' })
        else entries.push({ type: 'injected', at: end, text })
      },
    })
  }
  for (const { add } of found.sort((a, b) => a.at - b.at)) add()
  return at
}

interface InjectedLine {
  readonly text: string
  /** Where it ends in the text without white space. */
  readonly end: number
}

/** A fence after a backslash belongs to a stored text. */
const histories = new RegExp(`(?<!\\\\)<${fence}>([\\s\\S]*?)(?<!\\\\)</${fence}>`, 'g')
const label = /^(?=(?:User|Assistant|System|Tool): )/m

/** The messages in histories that we injected earlier. A stored text cannot begin a line with one of our
 *  labels (guard-lines.ts), so the labels separate the messages. */
function injectedLines(raw: string): readonly InjectedLine[] {
  return [...raw.matchAll(histories)].flatMap(({ index, 1: inside = '' }) => {
    let end = withoutSpace(raw.slice(0, index)).length + `<${fence}>`.length
    return inside.split(label).flatMap(part => {
      const text = withoutSpace(part)
      end += text.length
      return label.test(part) ? [{ text, end }] : []
    })
  })
}

/** The entries of a replay between two positions. */
export interface ReplayRegion {
  /** All answer text, joined. */
  readonly answer: string
  readonly injected: ReadonlySet<string>
  readonly calls: ReadonlySet<string>
}

export function regionBetween(entries: readonly ReplayEntry[], from: number, until: number): ReplayRegion {
  const within = entries.slice(firstAfter(entries, from), firstAfter(entries, until))
  return {
    answer: within.map(one => (one.type === 'answer' ? one.text : '')).join(''),
    injected: new Set(within.flatMap(one => (one.type === 'injected' ? [one.text] : []))),
    calls: new Set(within.flatMap(one => (one.type === 'call' ? [one.callId] : []))),
  }
}

/** The index of the first item after a position, by binary search: `items` are in the order of `at`. */
export function firstAfter(items: readonly { readonly at: number }[], position: number): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (items[middle]!.at <= position) low = middle + 1
    else high = middle
  }
  return low
}

export function isEmptyRegion({ answer, injected, calls }: ReplayRegion): boolean {
  return answer === '' && injected.size === 0 && calls.size === 0
}

/** Whether the region contains one of the calls in these messages. */
export function hasCallOf(
  { calls }: ReplayRegion,
  messages: readonly Pick<MessageText, 'message'>[],
): boolean {
  if (calls.size === 0) return false
  return messages.some(({ message }) =>
    message.content.some(block => block.type === 'tool_call' && calls.has(String(block.callId))),
  )
}

/** The messages of a turn that the region contains. Messages with text are searched for, one after the
 *  other. Messages without text follow their neighbours: calls the text after them, results their calls. */
export function messagesIn(region: ReplayRegion, messages: readonly MessageText[]): readonly Message[] {
  const isThere: (boolean | null)[] = []
  let from = 0
  let told = -1
  for (const [i, { message, text, injected, isWhole }] of messages.entries()) {
    if (message.role !== 'assistant') isThere.push(null)
    else if ([...region.injected].some(line => isToldAs(line, injected, isWhole))) {
      isThere.push(true)
      told = i
    } else if (text === '') isThere.push(hasCallOf(region, [{ message }]) ? true : null)
    else {
      const end = endOfText(region.answer, from, text)
      if (end !== null) from = end
      // Text before a call may be a notice, which agents do not replay.
      isThere.push(end !== null || hasCallOf(region, [{ message }]))
    }
  }
  // A history has the last text of an answer, and the calls before it.
  isThere.fill(true, 0, told + 1)
  let before: boolean | null = null
  return messages.flatMap(({ message }, i) => {
    const next = isThere.slice(i).find(known => known !== null) ?? null
    const isAnswer = message.role === 'assistant'
    const found = isThere[i] ?? (isAnswer ? (next ?? before) : (before ?? next)) ?? !isEmptyRegion(region)
    if (isAnswer) before = found
    return found ? [message] : []
  })
}

/** A part of an answer of this length is unique within its turn. */
const uniqueLength = 8

/** Where a text ends in the replayed answer; null if it is not there. The end of the text is enough: agents
 *  put notices before an answer that they do not repeat, or reword (codex: `Model metadata for … not found`),
 *  and may have kept a little more of it than we received. The beginning is not enough: a crash removes the
 *  end. */
function endOfText(answer: string, from: number, text: string): number | null {
  const at = answer.indexOf(text, from)
  if (at !== -1) return at + text.length
  const left = answer.slice(from)
  if (left !== '' && text.endsWith(left)) return answer.length
  if (left.length < uniqueLength) return null
  const beginning = left.slice(0, uniqueLength)
  for (let begin = text.indexOf(beginning); begin !== -1; begin = text.indexOf(beginning, begin + 1))
    if (left.startsWith(text.slice(begin))) return from + text.length - begin
  const ending = text.slice(-2 * uniqueLength)
  const end = ending.length === text.length ? -1 : left.indexOf(ending)
  return end === -1 ? null : from + end + ending.length
}
