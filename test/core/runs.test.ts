import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  containsSeq,
  highestOutside,
  type RunStart,
  type SeqRange,
  subtreeRanges,
} from '../../src/core/runs.ts'
import { processorTimer } from '../support/processor-time.ts'

/** A tree as the list of its parents by seq: -1 is a root, and every parent precedes its child. Most
 *  messages directly follow their parent, as in real conversations. */
const trees = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.nat()), { maxLength: 60 })
  .map(choices => choices.map((choice, seq) => (choice === null ? seq - 1 : (choice % (seq + 1)) - 1)))

const startsOf = (parents: readonly number[]): RunStart[] =>
  parents.flatMap((parentSeq, seq) => (seq === 0 || parentSeq !== seq - 1 ? [{ seq, parentSeq }] : []))

function pathOf(parents: readonly number[], seq: number): number[] {
  const path: number[] = []
  for (let at = seq; at >= 0; at = parents[at]!) path.push(at)
  return path
}

/** The ranges of a path as a driver reads them: one for each run, newest first. */
function rangesOf(parents: readonly number[], seq: number): SeqRange[] {
  const ranges: { lo: number; hi: number }[] = []
  for (const at of pathOf(parents, seq)) {
    const last = ranges.at(-1)
    if (last && last.lo - 1 === at) last.lo = at
    else ranges.push({ lo: at, hi: at })
  }
  return ranges
}

const seqsOf = (ranges: readonly SeqRange[]): number[] =>
  ranges.flatMap(({ lo, hi }) => Array.from({ length: hi - lo + 1 }, (_, i) => lo + i))

const treeWith = (picks: number) =>
  fc
    .tuple(trees, fc.array(fc.nat(), { minLength: picks, maxLength: picks + 3 }))
    .map(([parents, picked]) => ({
      parents,
      picked: picked.map(n => (parents.length === 0 ? 0 : n % parents.length)),
    }))

describe('containsSeq', () => {
  it('includes both ends and nothing between ranges', () => {
    const ranges = [
      { lo: 7, hi: 9 },
      { lo: 2, hi: 3 },
    ]
    expect([1, 2, 3, 4, 6, 7, 9, 10].filter(seq => containsSeq(ranges, seq))).toEqual([2, 3, 7, 9])
  })
})

describe('subtreeRanges', () => {
  it('takes the rest of a run and every run below it', () => {
    // 0-1-2-3, 4-5 on 1, 6 on 5, 7 on 0
    const starts = startsOf([-1, 0, 1, 2, 1, 4, 5, 0])
    expect(subtreeRanges(starts, 8, [4])).toEqual([{ lo: 4, hi: 6 }])
    expect(subtreeRanges(starts, 8, [2, 5])).toEqual([
      { lo: 2, hi: 3 },
      { lo: 5, hi: 6 },
    ])
    expect(subtreeRanges(starts, 8, [1])).toEqual([{ lo: 1, hi: 6 }])
  })

  it('ignores missing roots', () => {
    expect(subtreeRanges(startsOf([-1, 0]), 2, [2, -1, 99])).toEqual([])
    expect(subtreeRanges([], 0, [0])).toEqual([])
  })

  it('agrees with a walk over the parents of every message', () => {
    fc.assert(
      fc.property(treeWith(0), ({ parents, picked }) => {
        const ranges = subtreeRanges(startsOf(parents), parents.length, picked)
        const expected = parents.flatMap((_, seq) =>
          pathOf(parents, seq).some(at => picked.includes(at)) ? [seq] : [],
        )
        expect(seqsOf(ranges)).toEqual(expected)
        for (let i = 1; i < ranges.length; i++) expect(ranges[i]!.lo).toBeGreaterThan(ranges[i - 1]!.hi + 1)
      }),
      { numRuns: 1_000 },
    )
  })

  it('is fast on 200,000 runs', () => {
    const starts = Array.from({ length: 200_000 }, (_, i) => ({ seq: i * 2, parentSeq: i * 2 - 2 }))
    const took = processorTimer()
    const ranges = subtreeRanges(starts, 400_000, [0])
    expect(ranges).toEqual([{ lo: 0, hi: 399_999 }])
    expect(took()).toBeLessThan(2_000)
  })
})

describe('highestOutside', () => {
  it('steps back over removed ranges, across runs', () => {
    const path = [
      { lo: 8, hi: 9 },
      { lo: 0, hi: 4 },
    ]
    expect(highestOutside(path, [{ lo: 9, hi: 12 }])).toBe(8)
    expect(highestOutside(path, [{ lo: 3, hi: 12 }])).toBe(2)
    expect(highestOutside(path, [{ lo: 0, hi: 12 }])).toBeNull()
    expect(highestOutside(path, [])).toBe(9)
  })

  it('agrees with a check of each message', () => {
    fc.assert(
      fc.property(treeWith(1), ({ parents, picked: [head, ...roots] }) => {
        fc.pre(parents.length > 0)
        const removed = subtreeRanges(startsOf(parents), parents.length, roots)
        const expected = pathOf(parents, head!).find(seq => !containsSeq(removed, seq)) ?? null
        expect(highestOutside(rangesOf(parents, head!), removed)).toBe(expected)
      }),
      { numRuns: 1_000 },
    )
  })
})
