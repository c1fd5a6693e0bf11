import type { Stretch } from '../../core/runs.ts'

/** How many messages hang on these, themselves included. Runs come in order of seq, parents first. */
export function subtreeSize(runs: readonly Stretch[], seqs: readonly number[]): number {
  const taken = new Set<number>()
  let size = 0
  for (const { firstSeq, lastSeq, parentSeq } of runs) {
    const below = parentSeq !== null && taken.has(parentSeq)
    const own = seqs.filter(seq => firstSeq <= seq && seq <= lastSeq)
    const from = below ? firstSeq : Math.min(...own)
    if (from > lastSeq) continue
    // Whatever has a child ends a run, so it is enough to remember the ends.
    taken.add(lastSeq)
    size += lastSeq - from + 1
  }
  return size
}
