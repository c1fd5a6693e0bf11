import type { Message } from '../../core/message.ts'
import type { Heard } from '../transcript/heard.ts'
import { align } from './align.ts'
import { fitsOf } from './fits.ts'
import { foundIn, regionOf } from './region.ts'
import { readReplay } from './replayed.ts'
import { turnsOf } from './stored-turn.ts'

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
    if (words && !place) continue
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
