import { existsSync } from 'node:fs'
import type { Store } from '../../core/ports.ts'
import { type Given, textOption } from '../command.ts'
import type { Paper } from '../terminal/paper.ts'
import { UsageError } from '../usage-error.ts'
import type { World } from '../world.ts'

/** Runs with the store, to read in it. Looking makes no file: where there is none yet, the store is an empty one. */
export async function withStore(world: World, read: (store: Store) => Promise<number>): Promise<number> {
  const { target, kind } = world.place()
  const isFile = !/^postgres(ql)?:\/\/|^:memory:$/.test(target)
  if (!isFile || existsSync(target)) return read(await world.store())
  if (kind === 'given') note(world, `there is no store at ${target} yet`)
  const { openStore } = await import('../../stores/open.ts')
  await using empty = await openStore(':memory:')
  return await read(empty)
}

/** A line about the data, on stderr. */
export function note(world: World, text: string): void {
  if (!world.quiet && !world.json) world.err.line(world.err.style.safe(text))
}

/** Writes lines, many at a time, and waits for a slow reader: a tree can be larger than the memory. */
export async function printLines(paper: Paper, lines: Iterable<string>): Promise<void> {
  let waiting = ''
  const flush = async () => {
    paper.write(waiting)
    waiting = ''
    await paper.drained()
  }
  for (const line of lines) {
    waiting += `${line}\n`
    if (waiting.length > 65_536) await flush()
  }
  if (waiting !== '') await flush()
}

export function writeJson(world: World, value: unknown): void {
  world.out.line(JSON.stringify(value, null, world.out.isTerminal ? 2 : undefined))
}

/** Stored text as a field of a line of tab-separated values. */
export function field(world: World, text: string): string {
  return world.out.style.safe(text).replace(/[\t\n]+/g, ' ')
}

/** `-l <n>`: a whole number from 1 to `most`. */
export function limitOption(given: Given, otherwise: number, most: number): number {
  const text = textOption(given, 'limit')
  if (text === undefined) return otherwise
  const n = /^\d+$/.test(text) ? Number(text) : 0
  if (n < 1 || n > most)
    throw new UsageError(`-l takes a number from 1 to ${most}, not ${JSON.stringify(text)}`)
  return n
}
