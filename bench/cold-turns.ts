import type { Contender, Durability } from './contender.ts'
import { makeTurns, workId } from './workload.ts'

/** How many of the first turns of a process are measured. */
export const coldTurns = 20

export interface ColdArgs {
  readonly file: string
  readonly durability: Durability
  /** The number of the first turn, so that each process appends others. */
  readonly from: number
}

/** Microseconds: of the first turn, and of each of the first twenty. */
export interface Cold {
  readonly first: number
  readonly each: number
}

/** Appends a turn to each of the conversations of the file. */
export async function measureCold(contender: Contender, from: number): Promise<Cold> {
  const work = makeTurns(from, coldTurns)
  let first = 0
  let spent = 0
  for (const [i, turn] of work.entries()) {
    const head = await contender.head(workId(i))
    const begin = performance.now()
    await contender.append(workId(i), head, turn)
    spent += performance.now() - begin
    first ||= spent
    await new Promise(setImmediate)
  }
  await contender.close()
  return { first: first * 1_000, each: (spent * 1_000) / coldTurns }
}
