import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type ContenderName, openContender } from './contender.ts'
import { inFreshProcess } from './process.ts'
import type { Bench } from './suite.ts'
import { makeTurn, workId } from './workload.ts'

/** The file in which appends, loads and forks are timed, the same for all contenders: conversations of 5,000,
 *  of 500 and of 100 messages, filled in turn. One file, so that only the length of a conversation differs.
 */

const deepTurns = 1_250
const shortTurns = 25
/** Short conversations that are filled in turn, and long ones. */
const together = 20
const deepCount = 8

export const deep: readonly string[] = range(0, deepCount)
export const middling: readonly string[] = range(1_000, 4)
/** Twenty short conversations; each measurement uses fresh ones. */
export function short(set: number): readonly string[] {
  return range(2_000 + set * together, together)
}

function range(from: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => workId(from + i))
}

/** The number of a turn that the file does not contain. */
export const nextTurn = 10_000_000

interface FillArgs {
  readonly name: ContenderName
  readonly file: string
  readonly sets: number
}

export interface Filled {
  readonly messages: number
  readonly bytes: number
}

export function worldFile(bench: Bench, name: ContenderName): string {
  return join(bench.place, `${name}.db`)
}

const made = new Map<string, Promise<Filled>>()

/** Creates a contender's file on first use. */
export function makeWorld(bench: Bench, name: ContenderName): Promise<Filled> {
  const file = worldFile(bench, name)
  const args: FillArgs = { name, file, sets: setsFor(bench) }
  const filled = made.get(file) ?? inFreshProcess<Filled>({ suite: 'world', task: 'fill', args })
  made.set(file, filled)
  return filled
}

/** One set of short conversations for the warm-up, and one for each round and durability. */
export function setsFor(bench: Bench): number {
  return 1 + 2 * bench.scale.rounds
}

/** Fills a file and returns its size after the last write. */
export async function fill({ name, file, sets }: FillArgs): Promise<Filled> {
  const contender = await openContender(name, file, 'off')
  const heads = new Map<string, string | null>()
  let turns = 0

  contender.beginBulk()
  for (let step = 0; step < deepTurns; step++) {
    for (const id of deep) await grow(id)
    if (step % 10 === 0) for (const id of middling) await grow(id)
    const set = Math.floor(step / shortTurns)
    if (set < sets) for (const id of short(set)) await grow(id)
    if (step % 50 === 49) {
      contender.endBulk()
      contender.beginBulk()
    }
  }
  contender.endBulk()
  await contender.close()
  return { messages: turns * 4, bytes: statSync(file).size }

  async function grow(id: string): Promise<void> {
    if (!heads.has(id)) await contender.create(id, `conversation ${heads.size}`)
    heads.set(id, await contender.append(id, heads.get(id) ?? null, makeTurn(turns)))
    turns++
  }
}
