import { trashGraceMs } from '../../core/conversation.ts'
import type { ConversationId } from '../../core/ids.ts'
import { all, countChanges, first, type Program, run } from '../engine/engine.ts'
import { versionsOf } from './overview.ts'
import { trashConversation } from './trash.ts'

const dayMs = 86_400_000

/** The least number of sweeps that a conversation stays in the trash, besides `trashGraceMs`. */
const graceSweeps = 2

/** Conversations that a sweep moves in one transaction. */
export const sweepBatch = 100

/** Null if the clock is plausible. Otherwise the time of the last sweep, which is more than a day off. */
export function* clockJump(now: number): Program<number | null> {
  const last = yield* first('state', { name: 'swept_at' })
  return last && Math.abs(now - last.value) > dayMs ? last.value : null
}

/** Takes the next sweep for this process, if no process has swept within `ms`. Stores the time, so another
 *  process that asks at the same moment does not get it. */
export function* claimSweep(now: number, ms: number): Program<boolean> {
  const last = yield* first('state', { name: 'swept_at' })
  // The clock of another machine may be ahead.
  if (last && Math.abs(now - last.value) < ms) return false
  const expected = last?.value ?? null
  return (yield* countChanges('replaceState', { name: 'swept_at', value: now, expected })) > 0
}

/** Stores the time of the sweep and counts it on everything in the trash. */
export function* beginSweep(now: number): Program<void> {
  yield* run('putState', { name: 'swept_at', value: now })
  yield* run('countSweep', { now })
}

/** Stores the time only: after a clock jump nothing else is done. */
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

/** The next expired conversations, with their versions. */
export function* nextExpired(now: number): Program<ReadonlyMap<ConversationId, number>> {
  const rows = yield* all('expiredTasks', { now, limit: sweepBatch })
  return yield* versionsOf(rows.map(({ id }) => id as ConversationId))
}

/** Moves those of the next expired conversations to the trash that still have the version that was seen. */
export function* trashUnchanged(
  seen: ReadonlyMap<ConversationId, number>,
  now: number,
): Program<ConversationId[]> {
  const trashed: ConversationId[] = []
  for (const [id, version] of yield* nextExpired(now)) {
    if (seen.get(id) === version && (yield* trashConversation(id, now))) trashed.push(id)
  }
  return trashed
}

/** What would be trashed, up to a limit. */
export function* listExpired(now: number): Program<ConversationId[]> {
  return (yield* all('expiredTasks', { now, limit: 10_000 })).map(row => row.id as ConversationId)
}

/** What has been in the trash long enough. `ahead` counts the sweep that a dry run does not store. */
export function* listPurgeable(now: number, limit: number, ahead = 0): Program<ConversationId[]> {
  const rows = yield* all('purgeable', { before: now - trashGraceMs, sweeps: graceSweeps - ahead, limit })
  return rows.map(row => row.id as ConversationId)
}
