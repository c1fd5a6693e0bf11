import { trashGraceMs } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import { all, first, type Program, run } from '../engine/engine.ts'
import { trashConversation } from './trash.ts'

export const dayMs = 86_400_000

/** A trashed conversation is purged after `trashGraceMs` and this many sweeps. */
const graceSweeps = 2

/** Conversations that one transaction of a sweep moves. */
export const sweepBatch = 100

/** Whether the clock can be trusted: null, or the time of the last sweep if it is more than a day off. */
export function* clockJump(now: number): Program<number | null> {
  const last = yield* first('state', { name: 'swept_at' })
  return last && Math.abs(now - last.value) > dayMs ? last.value : null
}

/** Notes the time of a sweep, and on everything in the trash that another sweep has seen it there. */
export function* beginSweep(now: number): Program<void> {
  yield* run('putState', { name: 'swept_at', value: now })
  yield* run('countSweep', { now })
}

/** Notes the time only: after a jump nothing else is done. */
export function* noteSweep(now: number): Program<void> {
  yield* run('putState', { name: 'swept_at', value: now })
}

export function* trashExpired(now: number): Program<ConversationId[]> {
  const trashed: ConversationId[] = []
  for (const { id } of yield* all('expiredTasks', { now, limit: sweepBatch })) {
    if (yield* trashConversation(id as ConversationId, now)) trashed.push(id as ConversationId)
  }
  return trashed
}

/** What would be trashed, up to a bound. */
export function* listExpired(now: number): Program<ConversationId[]> {
  return (yield* all('expiredTasks', { now, limit: 10_000 })).map(row => row.id as ConversationId)
}

/** What lies in the trash long enough; `ahead` counts the sweep that a dry run does not note. */
export function* listPurgeable(now: number, limit: number, ahead = 0): Program<ConversationId[]> {
  const rows = yield* all('purgeable', { before: now - trashGraceMs, sweeps: graceSweeps - ahead, limit })
  return rows.map(row => row.id as ConversationId)
}
