import type { Message } from '../../core/message.ts'
import type { Heard } from '../transcript/heard.ts'
import { placeTurns } from './place-turns.ts'
import { indexReplay, messagesIn, regionBetween } from './replay-index.ts'
import { turnTexts } from './turn-text.ts'

/** Compares an agent's replay of a session with the stored conversation, and returns the stored messages that
 *  the replay lacks. Agents have no message ids in common with us, and they split, join, trim and decorate
 *  what they replay. So the comparison is by text without white space. Read this file first, then
 *  turn-text.ts, replay-index.ts (steps 1 and 4) and place-turns.ts (steps 2 and 3).
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
 *  4. Look for the answers of each turn in the region behind its question, up to the next question. Turn 0:
 *     (9, 10) contains "Aparser.", found. Turn 1: there is nothing behind 16, so "Yours." is missing.
 *     Turn 2 has no place, so all of it is missing.
 *
 *  The result is [Yours., Fix it, Done.]. Messages before the first one that was found are not missing: the
 *  memory of the agent begins there, because agents drop the oldest messages. If nothing is found, everything
 *  is missing.
 *
 *  A history that we injected into an earlier prompt counts as known: its lines are indexed like messages.
 *
 *  `stored` is the end of a path, oldest first. */
export function missingMessages(replay: readonly Heard[], stored: readonly Message[]): readonly Message[] {
  const index = indexReplay(replay)
  const turns = turnTexts(stored)
  const places = placeTurns(turns, index)
  const found = new Set<Message>()
  let until = Number.POSITIVE_INFINITY
  for (let i = turns.length - 1; i >= 0; i--) {
    const { question, rest } = turns[i]!
    const place = places[i]
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
