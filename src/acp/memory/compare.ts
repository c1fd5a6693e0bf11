import type { Message } from '../../core/message.ts'
import type { Heard } from '../transcript/heard.ts'
import { align, type Fit } from './align.ts'
import { type Replayed, type Replica, readReplay, type UserEnd } from './replayed.ts'
import { type StoredTurn, turnsOf, type Words } from './stored-turn.ts'

/** An answer this long is nobody else's: it tells which turn it is, where the agent has changed the user's words. */
const tellingLength = 24

/** The stored messages that an agent did not replay, in order. `stored` is the end of a path, oldest first. What the agent was
 *  once told in a prompt counts as there. Of what lies before the first message that is there nothing is lacking: the agent's
 *  memory begins there. If nothing is there, everything is lacking. */
export function lackingIn(replay: readonly Heard[], stored: readonly Message[]): readonly Message[] {
  const replayed = readReplay(replay)
  const turns = turnsOf(stored)
  const places = align(turns.length, fitsOf(turns, replayed))
  const there = new Set<Message>()
  let until = Number.POSITIVE_INFINITY
  for (let i = turns.length - 1; i >= 0; i--) {
    const { words, rest } = turns[i]!
    const place = places[i]
    if (!place && words) continue
    if (words) there.add(words.message)
    const region = regionOf(replayed.rest, place?.at ?? Number.NEGATIVE_INFINITY, until)
    for (const message of foundIn(region, rest)) there.add(message)
    until = place?.from ?? until
  }
  const first = stored.findIndex(message => there.has(message))
  if (first === -1) return stored
  // Of words that were erased there is nothing to tell.
  return stored.slice(first).filter(message => !there.has(message) && !message.erased)
}

/** Where each turn's first words may stand in the replay. That they stand there at all counts more than everything else. */
function fitsOf(turns: readonly StoredTurn[], { ends, rest }: Replayed): readonly Fit[] {
  const most = 8 * (turns.length + 1)
  return ends.flatMap((end, e) => {
    let behind: Region | null = null
    const region = () => {
      behind ??= regionOf(rest, end.at, ends[e + 1]?.at ?? Number.POSITIVE_INFINITY)
      return behind
    }
    return turns.flatMap((turn, which): Fit[] => {
      if (!turn.words) return []
      const from = beginOf(turn.words, end)
      if (from === null && !canTell(turn)) return []
      const isAnswered = isIn(region(), turn)
      if (from === null && !isAnswered) return []
      const exactness = from === null ? 0 : from === end.at - end.text.length ? 2 : from === end.from ? 1 : 0
      return [{ which, from: from ?? end.at, at: end.at, worth: most + (isAnswered ? 4 : 0) + exactness }]
    })
  })
}

/** Whether the answer alone tells which turn it is: it is long, or there is nothing else to go by. */
function canTell(turn: StoredTurn): boolean {
  return lengthOf(turn) >= (turn.words?.text === '' ? 1 : tellingLength)
}

/** Where the words begin, if they end here; null if they do not. Something else may stand before them, such as a history
 *  that we told the agent or a reminder of its own. */
function beginOf({ text, told, isWhole }: Words, end: UserEnd): number | null {
  if (end.kind === 'told') return end.text === told ? end.from : null
  const start = end.at - end.text.length
  if (text === '') return end.text === '' ? start : null
  const found = isWhole
    ? end.text.endsWith(text)
      ? end.text.length - text.length
      : -1
    : end.text.lastIndexOf(text)
  return found === -1 ? null : start + found
}

/** What an agent replayed between two places. */
interface Region {
  readonly answer: string
  readonly told: ReadonlySet<string>
  readonly calls: ReadonlySet<string>
}

function regionOf(rest: readonly Replica[], from: number, until: number): Region {
  const within = rest.slice(firstBehind(rest, from), firstBehind(rest, until))
  return {
    answer: within.map(one => (one.type === 'answer' ? one.text : '')).join(''),
    told: new Set(within.flatMap(one => (one.type === 'told' ? [one.text] : []))),
    calls: new Set(within.flatMap(one => (one.type === 'call' ? [one.callId] : []))),
  }
}

/** The first replica behind this place. */
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

function lengthOf({ rest }: StoredTurn): number {
  return rest.reduce((sum, { message, text }) => sum + (message.role === 'assistant' ? text.length : 0), 0)
}

function isIn(region: Region, { rest }: StoredTurn): boolean {
  const answers = rest.filter(({ message, text }) => message.role === 'assistant' && text !== '')
  return answers.length > 0 && foundIn(region, answers).length === answers.length
}

/** Those of a turn's messages that are there. What has words is looked for, one behind the other. What has none goes with
 *  its neighbours: calls with the words that they led to, results with their calls. */
function foundIn(region: Region, messages: readonly Words[]): readonly Message[] {
  const isThere: (boolean | null)[] = []
  let from = 0
  for (const { message, text, told } of messages) {
    if (message.role !== 'assistant') isThere.push(null)
    else if (told !== '' && region.told.has(told)) isThere.push(true)
    else if (text === '') isThere.push(hasCallOf(message, region) ? true : null)
    else {
      const at = region.answer.indexOf(text, from)
      if (at !== -1) from = at + text.length
      isThere.push(at !== -1)
    }
  }
  const isSilent = region.answer === '' && region.calls.size === 0 && region.told.size === 0
  return messages.flatMap(({ message }, i) => {
    const next = isThere.slice(i).find(known => known !== null)
    const before = isThere.slice(0, i).findLast(known => known !== null)
    const known = message.role === 'assistant' ? (next ?? before) : (before ?? next)
    return (isThere[i] ?? known ?? !isSilent) ? [message] : []
  })
}

function hasCallOf({ blocks }: Message, { calls }: Region): boolean {
  return blocks.some(block => block.type === 'tool_call' && calls.has(String(block.callId)))
}
