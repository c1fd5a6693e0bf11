/** The median. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Times each call separately, in microseconds. */
export async function timeEach(count: number, call: (i: number) => unknown): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    await call(i)
    times.push((performance.now() - start) * 1_000)
  }
  return times
}

/** The measurements of one contender: for each round, its groups in order. */
export type Series = readonly (readonly number[])[]

export interface Ratio {
  readonly middle: number
  /** The minimum and the maximum of the rounds. */
  readonly least: number
  readonly most: number
}

/** Compares group by group. Groups with the same index were measured directly after each other, so a slow
 *  moment of the machine affects both. The ratio of a round is the median of its groups, the overall ratio
 *  the median of its rounds. */
export function pairedRatio(ours: Series, theirs: Series): Ratio {
  const rounds = ours.map((groups, round) => median(groups.map((value, i) => value / theirs[round]![i]!)))
  return { middle: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds) }
}

export function middleOf(series: Series): number {
  return median(series.flat())
}
