import type { Message } from '../../core/message.ts'
import type { Heard } from '../transcript/heard.ts'
import {
  firstAfter,
  hasCallOf,
  indexReplay,
  isEmptyRegion,
  messagesIn,
  type ReplayIndex,
  type ReplayRegion,
  regionBetween,
  type UserEnd,
} from './replay-index.ts'
import { gapMark, isToldAs } from './told-turn.ts'
import { type MessageText, type TurnText, turnTexts } from './turn-text.ts'

/** Compares an agent's replay of a session with the stored conversation, and returns the stored messages that
 *  the replay lacks. Agents have no message ids in common with us, and they split, join, trim and decorate
 *  what they replay. So the comparison is by text without white space. Read this file first: it has steps 2
 *  and 3. Steps 1 and 4 are in replay-index.ts, and turn-text.ts prepares the stored side.
 *
 *  Example. Three turns are stored, and the agent was killed in the middle of the second one:
 *
 *      stored                                   replay, in chunks
 *      turn 0  What is it?  →  A parser.        user    "What is it?"
 *      turn 1  Whose?       →  Yours.           answer  "A par"
 *      turn 2  Fix it       →  Done.            answer  "ser. "
 *                                               user    "Whose?"
 *
 *  1. Index the replay. User text takes one position per character, answers are in between:
 *
 *      position   0 … 9        9.5                10 … 16
 *      text       Whatisit?    Apar, ser.         Whose?
 *
 *     So questions may end at 9 and at 16 (`userEnds`). The other entries are the two pieces of an answer,
 *     both at 9.5.
 *
 *  2. List where each stored question may be, with a score. The text of turn 0 ends at 9, and its answer
 *     follows (agreement 3). The text of turn 1 ends at 16, and no answer follows (agreement 2). The text of
 *     turn 2 does not occur.
 *
 *  3. Choose places in the order of both sides with the highest sum: turn 0 at 0–9, turn 1 at 10–16, turn 2
 *     nowhere. With "ok" said five times, this step decides which "ok" is which.
 *
 *  4. Look for the answers of each turn in the region after its question, up to the next question. Turn 0:
 *     (9, 10) contains "Aparser.", found. Turn 1: there is nothing after 16, so "Yours." is missing.
 *     Turn 2 has no place, so all of it is missing.
 *
 *  The result is [Yours., Fix it, Done.]. Messages before the first one that was found are not missing: the
 *  memory of the agent begins there, because agents drop the oldest messages. If nothing is found, everything
 *  is missing.
 *
 *  A history that we injected into an earlier prompt counts as known: its lines are indexed like messages.
 *  So do turns that it left out on purpose.
 *
 *  `stored` is the end of a path, oldest first. */
export function missingMessages(replay: readonly Heard[], stored: readonly Message[]): readonly Message[] {
  const index = indexReplay(replay)
  const turns = turnTexts(stored)
  const places = placeTurns(turns, index)
  const hasGap = index.entries.some(entry => entry.type === 'injected' && gapMark.test(entry.text))
  const told = places.findLastIndex(place => place?.isInjected)
  const found = new Set<Message>()
  let until = Number.POSITIVE_INFINITY
  for (let i = turns.length - 1; i >= 0; i--) {
    const { question, rest } = turns[i]!
    const place = places[i]
    if (i < told && (hasGap || place?.isInjected))
      for (const { message } of [...(question ? [question] : []), ...rest]) found.add(message)
    if (question && !place) continue
    if (question) found.add(question.message)
    const region = regionBetween(index.entries, place?.at ?? Number.NEGATIVE_INFINITY, until)
    for (const message of messagesIn(region, rest)) found.add(message)
    until = place?.from ?? until
  }
  const first = stored.findIndex(message => found.has(message))
  if (first === -1) return stored
  // An erased message has no text to inject.
  return stored.slice(first).filter(message => !found.has(message) && !message.erased)
}

/** A position in a replay where the question of a stored turn may be (step 2). */
interface TurnPlace {
  /** The index of the turn. */
  readonly turn: number
  /** Where the question begins and ends in the replay. */
  readonly from: number
  readonly at: number
  /** How well it fits; more than 0. */
  readonly score: number
  /** Whether the place is in a history that we injected. */
  readonly isInjected: boolean
}

/** For each turn, the place of its question in the replay, or null (steps 2 and 3). */
function placeTurns(turns: readonly TurnText[], replay: ReplayIndex): readonly (TurnPlace | null)[] {
  return choosePlaces(turns.length, possiblePlaces(turns, replay))
}

/** An answer of this length identifies its turn where the agent has changed the text of the question. */
const uniqueLength = 24

/** All places where the question of a turn may be, in the order of their ends. Short texts ("ok") repeat, so
 *  the answer after the place counts most: a matching answer scores three times as much as another one.
 *  Among equals, a place scores more if the user text there is the question and nothing else. */
function possiblePlaces(
  turns: readonly TurnText[],
  { userEnds, entries }: ReplayIndex,
): readonly TurnPlace[] {
  // More than all exactness points together, so that they never outweigh an answer.
  const unit = 4 * (turns.length + 1)

  function placesAt(end: UserEnd, region: () => ReplayRegion): readonly TurnPlace[] {
    return turns.flatMap((text, turn): readonly TurnPlace[] => {
      const match = matchAt(text, end, region)
      if (!match) return []
      const score = match.agreement * unit + match.exactness
      const here = { turn, from: match.from, at: end.at, score, isInjected: end.kind === 'injected' }
      return [...joinedBefore(here, end), here]
    })
  }

  /** Some agents join questions that had no answer in between. So the question of the turn before may be
   *  directly before a question that was found, without a chunk end between the two. */
  function joinedBefore({ turn, from }: TurnPlace, end: UserEnd): readonly TurnPlace[] {
    const before = turns[turn - 1]?.question
    const text = end.text.slice(0, end.text.length - (end.at - from))
    if (!before || end.kind === 'injected' || text === '' || before.text === '') return []
    const joined: UserEnd = { kind: 'said', text, from, at: from }
    const begin = beginOf(before, joined)
    if (begin === null) return []
    const place = { turn: turn - 1, from: begin, at: from, score: 2 * unit, isInjected: false }
    return [...joinedBefore(place, joined), place]
  }

  const places = userEnds.flatMap((end, e) => {
    let region: ReplayRegion | null = null
    return placesAt(end, () => {
      region ??= regionBetween(entries, end.at, userEnds[e + 1]?.at ?? Number.POSITIVE_INFINITY)
      return region
    })
  })
  return places.sort((a, b) => a.at - b.at)
}

function matchAt(turn: TurnText, end: UserEnd, region: () => ReplayRegion) {
  if (!turn.question) return null
  const from = beginOf(turn.question, end)
  if (from === null) {
    const isIdentified =
      turn.question.text === '' ? hasAllAnswers(region(), turn) : hasWholeAnswer(region(), turn)
    return isIdentified ? { from: end.from, agreement: 3, exactness: 0 } : null
  }
  const exactness = from === end.at - end.text.length ? 2 : from === end.from ? 1 : 0
  return { from, agreement: agreementOf(region(), turn), exactness }
}

/** 3 if the turn's answer, or a part of it, follows; 2 if no answer follows or none is stored; 1 if another
 *  one follows. */
function agreementOf(region: ReplayRegion, turn: TurnText): number {
  if (isEmptyRegion(region) || turn.rest.length === 0) return 2
  const isPart = region.answer !== '' && answerOf(turn).includes(region.answer)
  return isPart || messagesIn(region, answersOf(turn)).length > 0 || hasCallOf(region, turn.rest) ? 3 : 1
}

/** Where the question begins, if it ends here; null if it does not. Other text may be before it, such as an
 *  injected history or a reminder of the agent's own. */
function beginOf({ text, injected, isWhole }: MessageText, end: UserEnd): number | null {
  if (end.kind === 'injected') return isToldAs(end.text, injected, isWhole) ? end.from : null
  const start = end.at - end.text.length
  if (text === '') return end.text === '' ? start : null
  if (isWhole) return end.text.endsWith(text) ? end.at - text.length : null
  const found = end.text.lastIndexOf(text)
  return found === -1 ? null : start + found
}

/** Whether the region contains every character of a long answer. Its end alone would not identify the turn:
 *  many answers end with the same sentence. */
function hasWholeAnswer(region: ReplayRegion, turn: TurnText): boolean {
  const answer = answerOf(turn)
  return answer.length >= uniqueLength && region.answer.includes(answer)
}

/** Whether the region contains all answers, each at least with its end: a question without text gives no
 *  other evidence. */
function hasAllAnswers(region: ReplayRegion, turn: TurnText): boolean {
  const answers = answersOf(turn)
  return answers.length > 0 && messagesIn(region, answers).length === answers.length
}

function answersOf({ rest }: TurnText): readonly MessageText[] {
  return rest.filter(({ message, text }) => message.role === 'assistant' && text !== '')
}

function answerOf(turn: TurnText): string {
  return answersOf(turn)
    .map(({ text }) => text)
    .join('')
}

/** Chooses at most one place for each turn, in the order of both sides and without overlaps, so that the sum
 *  of the scores is greatest (dynamic programming, as in a longest common subsequence). Among equals, older
 *  turns get a place before newer ones, because an agent that dies forgets the newest; and places late in the
 *  replay come before early ones, because the stored messages are the end of a conversation. */
function choosePlaces(count: number, places: readonly TurnPlace[]): readonly (TurnPlace | null)[] {
  const rows = rowsOf(places)
  /** The best sum, by rows considered and turns considered. */
  const sums: number[][] = [new Array(count + 1).fill(0)]
  const sumWith = (place: TurnPlace, r: number) => place.score + sums[rowsBefore(place, r)]![place.turn]!
  /** The number of rows before a place. A place without length ends in its own row. */
  const rowsBefore = (place: TurnPlace, r: number) => Math.min(firstAfter(rows, place.from), r)
  for (const [r, row] of rows.entries()) {
    const above = sums[r]!
    const next = [...above]
    for (let i = 0; i < count; i++) {
      const place = row.places.get(i)
      next[i + 1] = Math.max(above[i + 1]!, next[i]!, place ? sumWith(place, r) : 0)
    }
    sums.push(next)
  }

  const chosen: (TurnPlace | null)[] = new Array(count).fill(null)
  let r = rows.length
  for (let i = count; i > 0 && r > 0; ) {
    const sum = sums[r]![i]!
    const place = rows[r - 1]!.places.get(i - 1)
    if (sum === sums[r]![i - 1]) i--
    else if (place && sum === sumWith(place, r - 1)) {
      chosen[i - 1] = place
      r = rowsBefore(place, r - 1)
      i--
    } else r--
  }
  return chosen
}

/** The places that end at the same position, the best one for each turn. */
interface PlaceRow {
  readonly at: number
  readonly places: Map<number, TurnPlace>
}

function rowsOf(places: readonly TurnPlace[]): readonly PlaceRow[] {
  const rows: PlaceRow[] = []
  for (const place of places) {
    const last = rows.at(-1)
    if (last?.at !== place.at) rows.push({ at: place.at, places: new Map([[place.turn, place]]) })
    else if ((last.places.get(place.turn)?.score ?? 0) < place.score) last.places.set(place.turn, place)
  }
  return rows
}
