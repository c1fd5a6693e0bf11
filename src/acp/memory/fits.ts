import type { Fit } from './align.ts'
import { foundIn, hasCallOf, isSilent, type Region, regionOf } from './region.ts'
import type { Replayed, UserEnd } from './replayed.ts'
import type { StoredTurn, Words } from './stored-turn.ts'

/** An answer this long is nobody else's: it tells which turn it is, where the agent has changed the user's words. */
const tellingLength = 24

/** Where each turn's first words may stand in the replay, in the order of their ends. The same is said often, so that a
 *  place is worth three times as much if the right answer follows it as if a wrong one does; last, it counts whether the words
 *  are all that was said there. */
export function fitsOf(turns: readonly StoredTurn[], { ends, rest }: Replayed): readonly Fit[] {
  const unit = 4 * (turns.length + 1)

  function fitsAt(end: UserEnd, region: () => Region): readonly Fit[] {
    return turns.flatMap((turn, which): readonly Fit[] => {
      const fit = fitOf(turn, end, region)
      if (!fit) return []
      const here = { which, from: fit.from, at: end.at, worth: fit.agreement * unit + fit.exactness }
      return [...joinedBefore(here, end), here]
    })
  }

  /** Some agents join what was said without an answer in between. So where words are found, those of the turn before
   *  may stand directly before them, without any sign of an end. */
  function joinedBefore({ which, from }: Fit, end: UserEnd): readonly Fit[] {
    const before = turns[which - 1]?.words
    const text = end.text.slice(0, end.text.length - (end.at - from))
    if (!before || end.kind === 'told' || text === '' || before.text === '') return []
    const joined: UserEnd = { kind: 'said', text, from, at: from }
    const begin = beginOf(before, joined)
    if (begin === null) return []
    const fit = { which: which - 1, from: begin, at: from, worth: 2 * unit }
    return [...joinedBefore(fit, joined), fit]
  }

  const fits = ends.flatMap((end, e) => {
    let region: Region | null = null
    return fitsAt(end, () => {
      region ??= regionOf(rest, end.at, ends[e + 1]?.at ?? Number.POSITIVE_INFINITY)
      return region
    })
  })
  return fits.sort((a, b) => a.at - b.at)
}

function fitOf(turn: StoredTurn, end: UserEnd, region: () => Region) {
  if (!turn.words) return null
  const from = beginOf(turn.words, end)
  if (from === null) {
    // The answer alone tells which turn it is if it is long, or if there is nothing else to go by.
    const least = turn.words.text === '' ? 1 : tellingLength
    return answerOf(turn).length >= least && isIn(region(), turn)
      ? { from: end.from, agreement: 3, exactness: 0 }
      : null
  }
  const exactness = from === end.at - end.text.length ? 2 : from === end.from ? 1 : 0
  return { from, agreement: agreementOf(region(), turn), exactness }
}

/** 3 if the answer, or a part of it, follows; 2 if there is none; 1 if it is another one. */
function agreementOf(region: Region, turn: StoredTurn): number {
  if (isSilent(region)) return 2
  const isPart = region.answer !== '' && answerOf(turn).includes(region.answer)
  return isPart || foundIn(region, answersOf(turn)).length > 0 || hasCallOf(region, turn.rest) ? 3 : 1
}

/** Where the words begin, if they end here; null if they do not. Something else may stand before them, such as a history
 *  that we told the agent or a reminder of its own. */
function beginOf({ text, told, isWhole }: Words, end: UserEnd): number | null {
  if (end.kind === 'told') return end.text === told ? end.from : null
  const start = end.at - end.text.length
  if (text === '') return end.text === '' ? start : null
  if (isWhole) return end.text.endsWith(text) ? end.at - text.length : null
  const found = end.text.lastIndexOf(text)
  return found === -1 ? null : start + found
}

function isIn(region: Region, turn: StoredTurn): boolean {
  const answers = answersOf(turn)
  return answers.length > 0 && foundIn(region, answers).length === answers.length
}

function answersOf({ rest }: StoredTurn): readonly Words[] {
  return rest.filter(({ message, text }) => message.role === 'assistant' && text !== '')
}

function answerOf(turn: StoredTurn): string {
  return answersOf(turn)
    .map(({ text }) => text)
    .join('')
}
