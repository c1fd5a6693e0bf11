import type { Message } from './message.ts'
import type { Stretch } from './runs.ts'

/** A branch and the position of its head. */
export interface BranchEnd {
  readonly name: string
  /** Null for an empty branch. */
  readonly head: Pick<Message, 'seq' | 'depth'> | null
}

/** How the branches of a conversation share its tree. */
export interface BranchForks {
  /** By branch name, the number of messages on its path that are on no other branch. */
  readonly own: ReadonlyMap<string, number>
  /** The stretches that start at the same fork as this first message, including its own, in the order of
   *  creation. Empty without siblings. */
  siblings(messageId: string): readonly ForkSibling[]
  /** The branches whose path contains the message with this seq, in the given order. */
  through(seq: number): readonly string[]
  /** Whether the path to the message with the seq `end` contains the message with this seq. */
  isOnPath(seq: number, end: number): boolean
}

export interface ForkSibling {
  /** Its first message. */
  readonly id: string
  /** The branches that contain it, in the given order. */
  readonly branches: readonly string[]
}

/** Computes the forks from the structure, without reading message bodies. */
export function findForks(runs: readonly Stretch[], branches: readonly BranchEnd[]): BranchForks {
  const byEnd = new Map<string, Stretch>(runs.map(run => [run.last, run]))
  const passing = new Map<Stretch, Passing[]>()
  for (const { name, head } of branches) {
    for (const step of head === null ? [] : chain(head.seq)) {
      const list = passing.get(step.run) ?? []
      list.push({ name, upto: step.upto })
      passing.set(step.run, list)
    }
  }
  const byParent = Map.groupBy(runs, ({ parent }) => parent)
  const byFirst = new Map<string, Stretch>(runs.map(run => [run.first, run]))
  return {
    own: new Map(branches.map(({ name, head }) => [name, head === null ? 0 : own(name, head.seq)])),
    siblings(messageId) {
      const run = byFirst.get(messageId)
      const beside = run ? byParent.get(run.parent)! : []
      if (beside.length < 2) return []
      return beside.map(one => ({
        id: one.first,
        branches: (passing.get(one) ?? []).map(({ name }) => name),
      }))
    },
    through(seq) {
      const run = runWith(runs, seq)
      const list = run ? (passing.get(run) ?? []) : []
      return list.filter(({ upto }) => upto >= seq).map(({ name }) => name)
    },
    isOnPath(seq, end) {
      for (const { run, upto } of chain(end)) if (run.firstSeq <= seq && seq <= upto) return true
      return false
    },
  }

  /** The stretches from a message up to the root, with the last seq on each. */
  function* chain(seq: number): Generator<{ readonly run: Stretch; readonly upto: number }> {
    let run = runWith(runs, seq)
    let upto = seq
    while (run) {
      yield { run, upto }
      upto = run.parentSeq ?? -1
      run = run.parent === null ? undefined : byEnd.get(run.parent)
    }
  }

  function own(name: string, seq: number): number {
    let sum = 0
    for (const { run, upto } of chain(seq)) {
      const others = passing.get(run)!.filter(one => one.name !== name)
      const shared = others.reduce((most, one) => Math.max(most, one.upto), run.firstSeq - 1)
      sum += Math.max(0, upto - shared)
      // Shared messages are shared up to the root.
      if (others.length > 0) break
    }
    return sum
  }
}

interface Passing {
  readonly name: string
  readonly upto: number
}

/** Stretches are in order of seq and do not overlap. */
function runWith(runs: readonly Stretch[], seq: number): Stretch | undefined {
  let [low, high] = [0, runs.length - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    const run = runs[middle]!
    if (seq < run.firstSeq) high = middle - 1
    else if (seq > run.lastSeq) low = middle + 1
    else return run
  }
  return undefined
}
