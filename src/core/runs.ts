import type { MessageId } from './ids.ts'

/** A contiguous range of seqs, both ends included. */
export interface SeqRange {
  /** The first seq of the range. */
  readonly lo: number
  /** The last seq of the range. */
  readonly hi: number
}

/** The start of a run: a message that does not directly follow its parent (parent = seq - 1). Roots have
 *  the parent -1. A run ends before the next start.
 *
 *  A deletion removes whole subtrees, and the next message starts a new run. So deleted seqs are at the end
 *  of a run's range, or fill it: a range may contain deleted seqs, but never omits a stored one. */
export interface RunStart {
  readonly seq: number
  readonly parentSeq: number
}

/** A range of messages without a fork: the unit in which a tree is drawn. */
export interface Stretch {
  /** The oldest message of the stretch. */
  readonly first: MessageId
  /** The newest message of the stretch. The children of this message start further stretches. */
  readonly last: MessageId
  /** The seq of `first`. */
  readonly firstSeq: number
  /** The seq of `last`. The messages between have the seqs between. */
  readonly lastSeq: number
  /** The parent of its first message, or null for a root. */
  readonly parent: MessageId | null
  /** The seq of `parent`, or null for a root. */
  readonly parentSeq: number | null
  /** The number of messages. */
  readonly messages: number
  /** The tokens of its messages. */
  readonly tokens: number
  /** The time of the first message. */
  readonly startedAt: Date
  /** The time of the last message. */
  readonly endedAt: Date
}

/** Whether one of the ranges contains a seq. The ranges may be in any order. */
export function containsSeq(ranges: readonly SeqRange[], seq: number): boolean {
  return ranges.some(range => range.lo <= seq && seq <= range.hi)
}

/** All messages of the subtrees of `roots`, as ascending ranges that do not touch. `starts` ascend; `end`
 *  is the first unused seq. Roots that are not among the messages are ignored. */
export function subtreeRanges(
  starts: readonly RunStart[],
  end: number,
  roots: readonly number[],
): SeqRange[] {
  // The first seq to take from each run. Everything after it in the run is below it.
  const from = starts.map(() => Number.POSITIVE_INFINITY)
  for (const root of roots) {
    const run = runOf(starts, root)
    if (run >= 0) from[run] = Math.min(from[run]!, root)
  }
  const ranges: { lo: number; hi: number }[] = []
  // Parents precede their children, so a run's parent is decided before the run.
  for (let i = 0; i < starts.length; i++) {
    const { seq, parentSeq } = starts[i]!
    const parent = parentSeq < 0 ? -1 : runOf(starts, parentSeq)
    if (parent >= 0 && parentSeq >= from[parent]!) from[i] = seq
    const lo = from[i]!
    const hi = (starts[i + 1]?.seq ?? end) - 1
    if (lo > hi) continue
    const before = ranges.at(-1)
    if (before && before.hi + 1 === lo) before.hi = hi
    else ranges.push({ lo, hi })
  }
  return ranges
}

/** The highest seq of a path (descending) that is not removed (ascending), or null. A branch moves there
 *  when its head is deleted. */
export function highestOutside(path: readonly SeqRange[], removed: readonly SeqRange[]): number | null {
  let k = removed.length - 1
  for (const { lo, hi } of path) {
    let seq = hi
    while (seq >= lo) {
      while (k >= 0 && removed[k]!.lo > seq) k--
      if (k < 0 || removed[k]!.hi < seq) return seq
      seq = removed[k]!.lo - 1
    }
  }
  return null
}

/** The index of the run that contains a seq, or -1 if the seq precedes all of them. */
function runOf(starts: readonly RunStart[], seq: number): number {
  let lo = 0
  let hi = starts.length
  while (lo < hi) {
    const middle = (lo + hi) >> 1
    if (starts[middle]!.seq <= seq) lo = middle + 1
    else hi = middle
  }
  return lo - 1
}
