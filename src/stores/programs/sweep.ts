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

/** Conversations that a statement of a sweep lists. */
export const sweepPage = 500

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
  for (const { id } of yield* all('expiredTasks', { now, limit: sweepBatch, ...sweepStart })) {
    if (yield* trashConversation(id as ConversationId, now)) trashed.push(id as ConversationId)
  }
  return trashed
}

/** The next expired conversations, with their versions. */
export function* nextExpired(now: number): Program<ReadonlyMap<ConversationId, number>> {
  const rows = yield* all('expiredTasks', { now, limit: sweepBatch, ...sweepStart })
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

/** The place after which a page of a list of the sweep begins: the time that orders it, and the engine's own
 *  order of conversations with the same time. */
export interface SweepPosition {
  readonly at: number
  readonly position: string
}

/** Before every conversation. The text is one that both engines can read as a position. */
export const sweepStart: SweepPosition = {
  at: Number.MIN_SAFE_INTEGER,
  position: '00000000-0000-0000-0000-000000000000',
}

/** A part of what a sweep would do. */
export interface SweepPage {
  readonly ids: readonly ConversationId[]
  /** The place of the last one. Null if there are no more. */
  readonly next: SweepPosition | null
}

/** What would be trashed, from a place on. */
export function* listExpired(now: number, after: SweepPosition, limit: number): Program<SweepPage> {
  return pageOf(yield* all('expiredTasks', { now, limit, ...after }), limit)
}

/** What has been in the trash long enough, from a place on. `ahead` counts the sweep that a dry run does not
 *  store. */
export function* listPurgeable(
  now: number,
  after: SweepPosition,
  limit: number,
  ahead = 0,
): Program<SweepPage> {
  const due = { before: now - trashGraceMs, sweeps: graceSweeps - ahead }
  return pageOf(yield* all('purgeable', { ...due, limit, ...after }), limit)
}

function pageOf(rows: readonly (SweepPosition & { readonly id: string })[], limit: number): SweepPage {
  const last = rows.length === limit ? rows.at(-1)! : null
  return {
    ids: rows.map(({ id }) => id as ConversationId),
    next: last && { at: last.at, position: last.position },
  }
}
