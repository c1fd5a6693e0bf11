import { all, type Program } from '../engine/engine.ts'
import type { BranchRow, Conv } from '../engine/rows.ts'

/** Most runs whose parents one statement asks for, and most rows that it returns: about 10 ms. */
const batch = { runs: 1_000, rows: 4_000 }

/** The parent of the first message of a run: its seq, and its run. -1 above the roots. */
interface RunParent {
  readonly seq: number
  readonly run: number
}

const none: RunParent = { seq: -1, run: -1 }

type Head = Pick<BranchRow, 'head_seq' | 'head_run'>

/** Finds where branches leave the path of one of them, the trunk. */
export interface BaseFinder {
  /** For each head, the last message that it shares with the trunk, or null. Null instead of the list if all
   *  calls together would read more than `mostRuns` runs. */
  basesOf(heads: readonly Head[]): Program<readonly (number | null)[] | null>
  /** Whether a message was missing: it was deleted between two statements, or the file is damaged. */
  lacksMessages(): boolean
}

/** The branches climb together from run to run, and the trunk only as far as they need it. A run that several
 *  of them pass is read once. */
export function baseFinder(conv: Conv, trunk: Head, mostRuns: number): BaseFinder {
  const parents = new Map<number, RunParent>()
  // The last message of the trunk in each of its runs, down to the run that it has reached.
  const onTrunk = new Map<number, number>()
  let reached = trunk.head_seq < 0 ? -1 : trunk.head_run
  if (reached >= 0) onTrunk.set(reached, trunk.head_seq)
  // Where the path above a run meets the trunk. `ahead` leads from a run to one above it of which that is the
  // same place. A head is like a run whose parent it is, with a number of its own.
  const bases = new Map<number, number | null>()
  const ahead = new Map<number, number>()
  let heads = -1
  let runsRead = 0
  let isLacking = false

  return { basesOf, lacksMessages: () => isLacking }

  function* basesOf(given: readonly Head[]): Program<readonly (number | null)[] | null> {
    const starts = given.map(({ head_seq, head_run }) => {
      parents.set(--heads, head_seq < 0 ? none : { seq: head_seq, run: head_run })
      return heads
    })
    let open: readonly number[] = starts
    // Rows for each run. Few, because a base is often near; then more, because it can be far.
    for (let each = 4; ; each = Math.min(2 * each, batch.rows)) {
      climbTrunk()
      open = [...new Set(open.map(climb))].filter(run => !bases.has(run))
      if (open.length === 0) return starts.map(start => bases.get(climb(start)) ?? null)
      if (runsRead >= mostRuns) return null
      const most = Math.min(batch.rows, mostRuns - runsRead)
      const wanted = nextOf(open).slice(0, Math.min(batch.runs, most))
      yield* readParents(wanted, Math.min(each * wanted.length, most))
    }
  }

  function* readParents(wanted: readonly number[], limit: number): Program<void> {
    const rows = yield* all('runParents', { conv, runs: wanted, limit })
    runsRead += rows.length
    for (const { run, parent_seq, parent_run } of rows) {
      const isSound = parent_run !== null && parent_run < run
      if (parent_seq >= 0 && !isSound) isLacking = true
      parents.set(run, isSound ? { seq: parent_seq, run: parent_run } : none)
    }
    if (rows.length === limit) return
    for (const run of wanted) {
      if (parents.has(run)) continue
      isLacking = true
      parents.set(run, none)
    }
  }

  function climbTrunk(): void {
    for (let parent = parents.get(reached); reached >= 0 && parent; parent = parents.get(reached)) {
      reached = parent.run
      if (reached >= 0) onTrunk.set(reached, parent.seq)
    }
  }

  /** The highest known run with the same base. Either that is known, or a run has to be read. */
  function climb(start: number): number {
    const passed: number[] = []
    let run = start
    for (let next: number | undefined = start; next !== undefined; next = ahead.get(run) ?? step(run)) {
      run = next
      passed.push(run)
    }
    for (const one of passed) if (one !== run) ahead.set(one, run)
    return run
  }

  /** The run of the parent, if the path above it meets the trunk at the same place. */
  function step(run: number): number | undefined {
    const parent = parents.get(run)
    if (!parent || bases.has(run)) return
    if (parent.run < 0) bases.set(run, null)
    else if (onTrunk.has(parent.run)) bases.set(run, Math.min(parent.seq, onTrunk.get(parent.run)!))
    // Otherwise it is not known whether the parent is on the trunk.
    else if (parent.run > reached) return parent.run
    return
  }

  /** The runs whose parents are not known, the newest first, and the trunk's if a climb has passed it. */
  function nextOf(open: readonly number[]): readonly number[] {
    const runs = open.filter(run => !parents.has(run))
    const isTrunkBehind = open.some(run => (parents.get(run)?.run ?? run) < reached)
    return [...(isTrunkBehind ? [reached] : []), ...runs.toSorted((a, b) => b - a)]
  }
}
