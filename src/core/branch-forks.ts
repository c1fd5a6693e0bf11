import type { Message } from './message.ts'
import type { Stretch } from './runs.ts'

/** A branch and the position of its head. */
export interface BranchEnd {
  readonly name: string
  /** Null for an empty branch. */
  readonly head: Pick<Message, 'seq'> | null
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
}

export interface ForkSibling {
  /** Its first message. */
  readonly id: string
  /** The first of the given branches that contains it, or null. */
  readonly branch: string | null
}

/** Computes the forks from the structure, without reading message bodies. Takes time in proportion to the
 *  number of stretches and branches: most branches share most of their path. */
export function findForks(runs: readonly Stretch[], branches: readonly BranchEnd[]): BranchForks {
  const byEnd = new Map<string, Stretch>(runs.map(run => [run.last, run]))
  const byParent = Map.groupBy(runs, ({ parent }) => parent)
  const byFirst = new Map<string, Stretch>(runs.map(run => [run.first, run]))
  const heads = headsIn(runs, branches)
  const passing = findPassing(runs, heads)
  return {
    own: new Map(branches.map(({ name, head }) => [name, head === null ? 0 : own(name, head.seq)])),
    siblings(messageId) {
      const run = byFirst.get(messageId)
      const beside = run ? byParent.get(run.parent)! : []
      if (beside.length < 2) return []
      return beside.map(one => ({ id: one.first, branch: branches[passing.get(one)!.first]?.name ?? null }))
    },
    through(seq) {
      const run = runWith(runs, seq)
      return run ? namesFrom(run, seq) : []
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
    let mine = 0
    for (const { run, upto } of chain(seq)) {
      // A branch that ends below the stretch shares all of it.
      const inside = heads.get(run) ?? []
      const isShared = passing.get(run)!.count - inside.length > mine
      const nearest = isShared ? upto : inside.find(head => head.name !== name)?.seq
      sum += Math.max(0, upto - (nearest ?? run.firstSeq - 1))
      // Shared messages are shared up to the root.
      if (nearest !== undefined) break
      mine = 1
    }
    return sum
  }

  /** The branches that end in a stretch from this seq on, or below it. */
  function namesFrom(run: Stretch, seq: number): readonly string[] {
    const found = (heads.get(run) ?? []).filter(head => head.seq >= seq)
    const next = [...(byParent.get(run.last) ?? [])]
    for (let one = next.pop(); one; one = next.pop()) {
      for (const head of heads.get(one) ?? []) found.push(head)
      for (const child of byParent.get(one.last) ?? []) next.push(child)
    }
    return found.sort((a, b) => a.order - b.order).map(({ name }) => name)
  }
}

/** The head of a branch. `order` is its place among the given branches. */
interface Head {
  readonly name: string
  readonly seq: number
  readonly order: number
}

/** The heads in each stretch, the last one first. */
function headsIn(
  runs: readonly Stretch[],
  branches: readonly BranchEnd[],
): ReadonlyMap<Stretch | undefined, readonly Head[]> {
  const heads = branches.flatMap(({ name, head }, order) =>
    head === null ? [] : { name, seq: head.seq, order },
  )
  return Map.groupBy(
    heads.sort((a, b) => b.seq - a.seq),
    ({ seq }) => runWith(runs, seq),
  )
}

/** The heads in a stretch and below it: their number, and the place of the first branch. */
interface Passing {
  readonly count: number
  readonly first: number
}

function findPassing(
  runs: readonly Stretch[],
  heads: ReadonlyMap<Stretch | undefined, readonly Head[]>,
): ReadonlyMap<Stretch, Passing> {
  const passing = new Map<Stretch, Passing>()
  const below = new Map<string, Passing>()
  // Parents precede their children.
  for (const run of runs.toReversed()) {
    let { count, first } = below.get(run.last) ?? none
    for (const { order } of heads.get(run) ?? []) {
      count++
      first = Math.min(first, order)
    }
    passing.set(run, { count, first })
    if (run.parent === null) continue
    const beside = below.get(run.parent) ?? none
    below.set(run.parent, { count: beside.count + count, first: Math.min(beside.first, first) })
  }
  return passing
}

const none: Passing = { count: 0, first: Number.POSITIVE_INFINITY }

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
