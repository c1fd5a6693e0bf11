import type { Message } from '../../core/message.ts'
import type { Replica } from './replayed.ts'
import type { Words } from './stored-turn.ts'

/** What an agent replayed between two places, the user's words apart. */
export interface Region {
  /** Bare. */
  readonly answer: string
  readonly told: ReadonlySet<string>
  readonly calls: ReadonlySet<string>
}

export function regionOf(rest: readonly Replica[], from: number, until: number): Region {
  const within = rest.slice(firstBehind(rest, from), firstBehind(rest, until))
  return {
    answer: within.map(one => (one.type === 'answer' ? one.text : '')).join(''),
    told: new Set(within.flatMap(one => (one.type === 'told' ? [one.text] : []))),
    calls: new Set(within.flatMap(one => (one.type === 'call' ? [one.callId] : []))),
  }
}

function firstBehind(rest: readonly Replica[], place: number): number {
  let low = 0
  let high = rest.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (rest[middle]!.at <= place) low = middle + 1
    else high = middle
  }
  return low
}

/** Those of a turn's messages that are there. What has words is looked for, one behind the other. What has none goes with
 *  its neighbours: calls with the words that they led to, results with their calls. */
export function foundIn(region: Region, messages: readonly Words[]): readonly Message[] {
  const isThere: (boolean | null)[] = []
  let from = 0
  for (const { message, text, told } of messages) {
    if (message.role !== 'assistant') isThere.push(null)
    else if (told !== '' && region.told.has(told)) isThere.push(true)
    else if (text === '') isThere.push(hasCallOf(region, [{ message }]) ? true : null)
    else {
      const end = endIn(region.answer, from, text)
      if (end !== null) from = end
      isThere.push(end !== null)
    }
  }
  let before: boolean | null = null
  return messages.flatMap(({ message }, i) => {
    const next = isThere.slice(i).find(known => known !== null) ?? null
    const isAnswer = message.role === 'assistant'
    const found = isThere[i] ?? (isAnswer ? (next ?? before) : (before ?? next)) ?? !isSilent(region)
    if (isAnswer) before = found
    return found ? [message] : []
  })
}

/** So much of an answer stands nowhere else in its turn. */
const tellingLength = 8

/** Where a text ends in what was replayed; null if it is not there. Agents put notices before an answer that they do not
 *  repeat, or not in the same words (codex: `Model metadata for … not found`), so that its end is enough; and they may have
 *  kept a little more of it than we had heard. What a crash takes away is the end. */
function endIn(answer: string, from: number, text: string): number | null {
  const at = answer.indexOf(text, from)
  if (at !== -1) return at + text.length
  const left = answer.slice(from)
  if (left !== '' && text.endsWith(left)) return answer.length
  if (left.length < tellingLength) return null
  const beginning = left.slice(0, tellingLength)
  for (let begin = text.indexOf(beginning); begin !== -1; begin = text.indexOf(beginning, begin + 1))
    if (left.startsWith(text.slice(begin))) return from + text.length - begin
  const ending = text.slice(-2 * tellingLength)
  const end = ending.length === text.length ? -1 : left.indexOf(ending)
  return end === -1 ? null : from + end + ending.length
}

/** Whether one of the calls in these messages was replayed. */
export function hasCallOf({ calls }: Region, messages: readonly Pick<Words, 'message'>[]): boolean {
  if (calls.size === 0) return false
  return messages.some(({ message }) =>
    message.blocks.some(block => block.type === 'tool_call' && calls.has(String(block.callId))),
  )
}

export function isSilent({ answer, told, calls }: Region): boolean {
  return answer === '' && told.size === 0 && calls.size === 0
}
