import type { RunStart, SeqRange } from '../../src/core/runs.ts'

/** A range without a fork, and the seq of its parent (-1 for a root). */
export interface SeqStretch extends SeqRange {
  readonly parentSeq: number
}

/** The runs of a conversation, cut after each message that is the parent of another run: what pages of
 *  stretches are compared with. Needs the starts of all runs, ascending; `end` is the first unused seq. */
export function splitAtForks(starts: readonly RunStart[], end: number): SeqStretch[] {
  const forks = starts.map(({ parentSeq }) => parentSeq).toSorted((a, b) => a - b)
  const stretches: SeqStretch[] = []
  let next = 0
  for (const [i, start] of starts.entries()) {
    const hi = (starts[i + 1]?.seq ?? end) - 1
    let { seq: lo, parentSeq } = start
    while (lo <= hi) {
      while (next < forks.length && forks[next]! < lo) next++
      const cut = Math.min(hi, forks[next] ?? hi)
      stretches.push({ lo, hi: cut, parentSeq })
      parentSeq = cut
      lo = cut + 1
    }
  }
  return stretches
}
