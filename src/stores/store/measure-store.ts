import type { ConversationId } from '../../core/ids.ts'
import type { ConversationSize, Measured, UsageSum } from '../../core/measure.ts'
import { nextTurn } from '../../system/event-loop-turns.ts'
import type { Engine } from '../engine/engine.ts'
import { needConversation } from '../programs/lookup.ts'
import {
  type IndexPiece,
  measureContent,
  measureCounts,
  measureIndex,
  measureUsage,
  type UsagePiece,
  type UsagePosition,
} from '../programs/measure.ts'

/** Turns, messages, and blocks of the search index, per piece: about 20 ms on SQLite. */
const turnsPerPiece = 5_000
const messagesPerPiece = 5_000
const blocksPerPiece = 2_000

/** Measures a store in pieces, between which other work of the process gets its turn. */
export async function measureStore(engine: Engine, since: number): Promise<Measured> {
  const counts = await engine.read(() => measureCounts(since))
  const index = await sumIndex(engine)
  const sizes = index === null ? counts.sizes : [...counts.sizes, { name: 'search index', bytes: index }]
  return { ...counts, usage: await sumUsage(engine, since), sizes }
}

/** Measures a conversation, in pieces if it is long. */
export async function measureOne(engine: Engine, id: ConversationId): Promise<ConversationSize> {
  const { conv, messages, next_seq: end } = await engine.query(() => needConversation(id))
  const piece = engine.rowsPerStatement === null ? end : messagesPerPiece
  let bytes = 0
  for (let lo = 0; lo < end; lo += piece) {
    if (lo > 0) await nextTurn()
    bytes += await engine.query(() => measureContent(conv, lo, lo + piece - 1))
  }
  return { messages, bytes }
}

async function sumUsage(engine: Engine, since: number): Promise<readonly UsageSum[]> {
  const sums = new Map<string, UsageSum>()
  // On a server one statement blocks nothing here.
  const turns = engine.rowsPerStatement === null ? null : turnsPerPiece
  let after: UsagePosition = null
  do {
    await nextTurn()
    const from: UsagePosition = after
    const piece: UsagePiece = await engine.read(() => measureUsage(since, from, turns))
    for (const sum of piece.sums) {
      const name = JSON.stringify([sum.quarter, sum.model])
      const known = sums.get(name)
      sums.set(name, known ? addSums(known, sum) : sum)
    }
    after = piece.end
  } while (after !== null)
  return [...sums.values()].sort(inOrder)
}

function addSums(a: UsageSum, b: UsageSum): UsageSum {
  return {
    model: a.model,
    quarter: a.quarter,
    turns: a.turns + b.turns,
    input: a.input + b.input,
    output: a.output + b.output,
    cost: a.cost + b.cost,
    uncosted: a.uncosted + b.uncosted,
  }
}

/** By time and then by model, as bytes; null first. */
function inOrder(a: UsageSum, b: UsageSum): number {
  if (a.quarter !== b.quarter) return (a.quarter ?? -1) - (b.quarter ?? -1)
  if (a.model === null || b.model === null) return a.model === b.model ? 0 : a.model === null ? -1 : 1
  return Buffer.compare(Buffer.from(a.model), Buffer.from(b.model))
}

async function sumIndex(engine: Engine): Promise<number | null> {
  let bytes = 0
  for (let after: number | null = null; ; ) {
    const from: number | null = after
    const piece: IndexPiece | null = await engine.query(() => measureIndex(from, blocksPerPiece))
    if (piece === null) return null
    bytes += piece.bytes
    if (piece.last === null) return bytes
    after = piece.last
    await nextTurn()
  }
}
