import type { Ratio } from './measure.ts'
import { type Steps, StoppedError, startSteps } from './process.ts'

/** The size of the workload. `--quick` finishes within two minutes on a quiet machine. */
export interface Scale {
  readonly rounds: number
  readonly conversations: readonly [few: number, many: number]
  readonly searched: number
  /** Messages of the longest conversation whose tail is read. */
  readonly history: number
}

export const scales: Readonly<Record<'quick' | 'normal', Scale>> = {
  quick: { rounds: 2, conversations: [1_000, 10_000], searched: 50_000, history: 5_000 },
  normal: { rounds: 7, conversations: [10_000, 100_000], searched: 1_000_000, history: 100_000 },
}

/** Rows that are measured together and take longer are stopped and say where. */
export const rowSeconds = 60

export interface Bench {
  readonly scale: Scale
  /** A directory for its files, on a real disk. */
  readonly place: string
  /** A directory for files that take long to fill, which may be there from an earlier run. */
  readonly files: string
}

/** One line of the table. */
export interface Line {
  readonly work: string
  /** The floor's figure, or another base of comparison. */
  readonly floor?: string
  readonly ours: string
  readonly ratio?: Ratio | number
  /** The figure that is compared with the goal, if it is not the ratio. */
  readonly value?: number
  readonly goal?: number
  /** The goal is a minimum instead of a maximum. */
  readonly more?: boolean
  /** The peers' figures, as multiples of the floor. */
  readonly langgraph?: string
  readonly mastra?: string
  readonly note?: string
  /** The known cause of a missed goal. Printed below the table if it is missed. */
  readonly why?: string
}

/** A group of rows, and the tasks of its fresh processes: all at once, or group by group. */
export interface Suite {
  readonly name: string
  /** `byName` runs only if it is named, `full` only without `--quick`. */
  readonly when?: 'byName' | 'full'
  readonly tasks: Readonly<Record<string, (args: never) => Promise<unknown> | AsyncGenerator<unknown>>>
  run(bench: Bench): Promise<readonly Line[]>
}

/** The measurements that were stopped, for the end of the table. */
export const stops: string[] = []

/** Lets the contenders alternate, group by group, in fresh processes each round. The first contender changes.
 *  Stops after `rowSeconds` with the measurements so far. */
export async function rounds<Name extends string, T>(
  count: number,
  names: readonly Name[],
  task: { readonly suite: string; readonly task: string },
  argsOf: (name: Name, round: number) => object,
): Promise<Record<Name, T[][]>> {
  const results = Object.fromEntries(names.map(name => [name, [] as T[][]])) as Record<Name, T[][]>
  const deadline = performance.now() + rowSeconds * 1_000
  let groups = 0
  for (let round = 0; round < count; round++) {
    const steps = names.map(name => startSteps<T>({ ...task, args: argsOf(name, round) }))
    for (const name of names) results[name].push([])
    try {
      for (let turn = round; ; turn++) {
        const group = await oneGroup(steps, turn % 2 === 0, deadline)
        if (group === null) break
        for (const [i, name] of names.entries()) results[name][round]!.push(group[i]!)
        groups++
      }
    } catch (error) {
      for (const one of steps) one.stop()
      if (!(error instanceof StoppedError) || groups === 0) throw error
      if (results[names[0]!][round]!.length === 0) for (const name of names) results[name].pop()
      stops.push(
        `${task.suite} was stopped after ${rowSeconds} s, in round ${round + 1} of ${count}, after ${groups} groups`,
      )
      break
    }
  }
  return results
}

/** One group of each, directly after each other; null when they have no more. */
async function oneGroup<T>(
  steps: readonly Steps<T>[],
  forwards: boolean,
  deadline: number,
): Promise<T[] | null> {
  const group: (T | null)[] = steps.map(() => null)
  const order = [...steps.keys()]
  for (const i of forwards ? order : order.reverse()) group[i] = await steps[i]!.next(deadline)
  return group.every(one => one !== null) ? (group as T[]) : null
}

/** One of the numbers of each group. */
export function seriesOf<T, Key extends keyof T>(rounds: readonly (readonly T[])[], key: Key): T[Key][][] {
  return rounds.map(groups => groups.map(group => group[key]))
}

/** Microseconds in a readable unit. */
export function time(us: number): string {
  return us < 1_000
    ? `${us.toFixed(us < 100 ? 1 : 0)} µs`
    : `${(us / 1_000).toFixed(us < 100_000 ? 2 : 0)} ms`
}
