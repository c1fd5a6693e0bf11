import type { Ratio } from './measure.ts'
import { startSteps } from './process.ts'

/** How much is done. `--quick` finishes within two minutes. */
export interface Scale {
  readonly rounds: number
  readonly conversations: readonly [few: number, many: number]
  readonly searched: number
  /** Messages of the longest conversation of which a tail is read. */
  readonly history: number
}

export const scales: Readonly<Record<'quick' | 'normal', Scale>> = {
  quick: { rounds: 4, conversations: [10_000, 40_000], searched: 50_000, history: 20_000 },
  normal: { rounds: 9, conversations: [10_000, 100_000], searched: 200_000, history: 100_000 },
}

export interface Bench {
  readonly scale: Scale
  /** A directory for its files, on a real disk. */
  readonly place: string
}

/** One line of the table. */
export interface Line {
  readonly work: string
  /** What the floor took, or what else it is compared with. */
  readonly floor?: string
  readonly ours: string
  readonly ratio?: Ratio | number
  /** What is held against the goal, if it is no ratio. */
  readonly value?: number
  readonly goal?: number
  readonly note?: string
}

/** A group of lines, and what its fresh processes do: all at once, or group by group. */
export interface Suite {
  readonly name: string
  readonly tasks: Readonly<Record<string, (args: never) => Promise<unknown> | AsyncGenerator<unknown>>>
  run(bench: Bench): Promise<readonly Line[]>
}

/** Has the contenders take turns, group by group, in fresh processes each round. Who begins changes. */
export async function rounds<Name extends string, T>(
  count: number,
  names: readonly Name[],
  task: { readonly suite: string; readonly task: string },
  argsOf: (name: Name, round: number) => object,
): Promise<Record<Name, T[][]>> {
  const results = Object.fromEntries(names.map(name => [name, [] as T[][]])) as Record<Name, T[][]>
  for (let round = 0; round < count; round++) {
    const contenders = names.map(name => ({
      groups: [] as T[],
      steps: startSteps<T>({ ...task, args: argsOf(name, round) }),
    }))
    for (const [i, { groups }] of contenders.entries()) results[names[i]!].push(groups)
    for (let more = true, turn = round; more; turn++) {
      for (const { groups, steps } of turn % 2 === 0 ? contenders : contenders.toReversed()) {
        const group = await steps.next()
        if (group === null) more = false
        else groups.push(group)
      }
    }
  }
  return results
}

/** One of the numbers that each group brought. */
export function seriesOf<T, Key extends keyof T>(rounds: readonly (readonly T[])[], key: Key): T[Key][][] {
  return rounds.map(groups => groups.map(group => group[key]))
}

/** Microseconds as a person reads them. */
export function time(us: number): string {
  return us < 1_000
    ? `${us.toFixed(us < 100 ? 1 : 0)} µs`
    : `${(us / 1_000).toFixed(us < 100_000 ? 2 : 0)} ms`
}
