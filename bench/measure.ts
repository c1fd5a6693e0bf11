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

/** A ratio, from one pair of measurements a round. */
export interface Ratio {
  readonly middle: number
  readonly least: number
  readonly most: number
  readonly rounds: number
}

/** Compares round by round, so that a slow moment of the machine meets both, and takes the middle. */
export function pairedRatio(ours: readonly number[], theirs: readonly number[]): Ratio {
  const ratios = ours.map((value, i) => value / theirs[i]!)
  return {
    middle: median(ratios),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    rounds: ratios.length,
  }
}
