/** The middle of what was measured. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Times each call by itself, in microseconds. */
export async function timeEach(count: number, call: (i: number) => unknown): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    await call(i)
    times.push((performance.now() - start) * 1_000)
  }
  return times
}

/** What one contender measured: for each round, its groups in order. */
export type Series = readonly (readonly number[])[]

export interface Ratio {
  readonly middle: number
  /** The least and the greatest of the rounds. */
  readonly least: number
  readonly most: number
}

/** Compares group by group, which were measured one right after the other, so that a slow moment of the machine
 *  meets both. A round's ratio is the middle of its groups', the ratio that of its rounds'. */
export function pairedRatio(ours: Series, theirs: Series): Ratio {
  const rounds = ours.map((groups, round) => median(groups.map((value, i) => value / theirs[round]![i]!)))
  return { middle: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds) }
}

export function middleOf(series: Series): number {
  return median(series.flat())
}
