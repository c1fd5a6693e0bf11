import { ExpiredError, NotFoundError } from '../../../core/errors.ts'
import type { ConversationId } from '../../../core/ids.ts'
import {
  type ClaimedDispatch,
  type ClaimFilter,
  type ClaimRequest,
  type Dispatch,
  type DispatchClaim,
  type DispatchEnd,
  mostDeaths,
} from '../../../core/task.ts'
import { leaseMs } from '../../../core/turn.ts'
import { all, first, type Program, run } from '../../engine/engine.ts'
import { dispatchFromRow, taskFromRow } from '../../engine/row-to-task.ts'
import { holderText } from '../../engine/row-to-value.ts'
import type { QueueRow } from '../../engine/task-rows.ts'
import { busyDispatch } from './submit.ts'

/** Claims the oldest queued dispatch. */
export function* claimDispatch(
  request: ClaimRequest,
  { projects }: ClaimFilter,
  now: number,
): Program<ClaimedDispatch | null> {
  if (!projects) {
    const row = yield* first('nextQueued', {})
    return row ? yield* claim(row, request, now) : null
  }
  const busy =
    projects.length === 1
      ? [{ project: projects[0]! }]
      : yield* all('queuedProjects', { projects: [...new Set(projects)] })
  for (const { project } of busy) {
    const row = yield* first('nextQueuedIn', { project })
    if (row) return yield* claim(row, request, now)
  }
  return null
}

/** Claims a dispatch by its number. Null if it has ended. */
export function* claimThisDispatch(
  id: string,
  n: number,
  request: ClaimRequest,
  now: number,
): Program<ClaimedDispatch | null> {
  const row = yield* needLocked(id, n)
  if (row.dispatch_status === 'queued') return yield* claim(row, request, now)
  if (isFinal(row.dispatch_status)) return null
  throw busyDispatch(id, row)
}

function* claim(row: QueueRow, request: ClaimRequest, now: number): Program<ClaimedDispatch> {
  const held = { holder: holderText(request.holder), worker: request.worker, lease_until: now + leaseMs }
  yield* run('setClaimed', { id: row.id, ...held, now })
  const attempt = row.attempts + 1
  const running = { ...held, dispatch_status: 'running', attempts: attempt, started_at: now }
  return {
    task: taskFromRow({ ...row, status: 'running', updated_at: now }),
    dispatch: dispatchFromRow({ ...row, ...running }),
    claim: { task: row.id, n: row.n, attempt },
  }
}

export function* renewDispatch(held: DispatchClaim, now: number): Program<Dispatch> {
  const row = yield* needClaimed(held)
  const lease_until = now + leaseMs
  yield* run('renewClaim', { id: row.id, lease_until })
  return dispatchFromRow({ ...row, lease_until })
}

export function* linkDispatch(held: DispatchClaim, conversation: ConversationId): Program<void> {
  const { id, n } = yield* needClaimed(held)
  yield* run('linkDispatch', { id, n, conversation_id: conversation })
  yield* run('linkTask', { id, conversation_id: conversation })
}

/** Ends a dispatch. If a caller does not know whether its first call succeeded, it calls again. */
export function* finishDispatch(held: DispatchClaim, end: DispatchEnd, now: number): Program<Dispatch> {
  const row = yield* needLocked(held.task, held.n)
  if (row.dispatch_status === end.status && row.attempts === held.attempt) return dispatchFromRow(row)
  checkClaimed(row, held)
  return yield* endDispatch(row, { ...end, deaths: 0 }, now)
}

/** Gives a dispatch back to the queue. */
export function* releaseDispatch(held: DispatchClaim, now: number): Program<Dispatch> {
  const row = yield* needClaimed(held)
  return yield* giveBack(row, 0, now)
}

/** Ends the claim of a dead worker. Null if the claim is not the one that was seen. */
export function* reclaimDispatch(seen: Dispatch, now: number): Program<Dispatch | null> {
  const row = yield* first('lockDispatch', { id: seen.task, n: seen.n })
  const isSeen =
    row?.dispatch_status === 'running' &&
    row.attempts === seen.attempts &&
    row.lease_until === (seen.leaseUntil?.getTime() ?? null)
  return isSeen ? yield* giveBack(row, row.deaths + 1, now) : null
}

function* giveBack(row: QueueRow, deaths: number, now: number): Program<Dispatch> {
  if (row.cancel_requested === 1) return yield* endDispatch(row, { status: 'cancelled', deaths }, now)
  if (deaths >= mostDeaths) {
    const error = `the worker died ${deaths} times in a row`
    return yield* endDispatch(row, { status: 'failed', error, deaths }, now)
  }
  yield* run('setUnclaimed', { id: row.id, deaths, now })
  return dispatchFromRow({ ...row, dispatch_status: 'queued', deaths })
}

/** Ends the active dispatch of a task. The next one that waits takes its place. */
export function* endDispatch(
  row: QueueRow,
  end: DispatchEnd & { readonly deaths: number },
  now: number,
): Program<Dispatch> {
  const { id, n, attempts, worker, queued_at, started_at } = row
  const { status, deaths } = end
  const state = { attempts, worker, queued_at, started_at }
  const result = end.result === undefined ? null : JSON.stringify(end.result)
  const error = end.error ?? null
  yield* run('endDispatch', { id, n, ...state, status, deaths, result, error, now })
  const next = row.dispatches > n ? yield* first('firstWaiting', { id }) : undefined
  if (next) {
    yield* run('setDispatchActive', { id, n: next.n })
    yield* run('queueDispatch', { id, n: next.n, attempts: 0, now })
  } else yield* run('endTask', { id, status, now })
  const ended = { dispatch_status: status, deaths, result, error, cancel_requested: 0, ended_at: now }
  return dispatchFromRow({ ...row, ...ended })
}

export function isFinal(status: string): boolean {
  return status === 'done' || status === 'failed' || status === 'cancelled'
}

/** Locks the task of a dispatch and reads both. */
function* needLocked(id: string, n: number): Program<QueueRow> {
  const row = yield* first('lockDispatch', { id, n })
  if (row) return row
  if (yield* first('taskById', { id })) throw new NotFoundError('dispatch', `${id}#${n}`)
  throw new NotFoundError('task', id)
}

function* needClaimed(held: DispatchClaim): Program<QueueRow> {
  const row = yield* needLocked(held.task, held.n)
  checkClaimed(row, held)
  return row
}

function checkClaimed(row: QueueRow, { task, n, attempt }: DispatchClaim): void {
  if (row.dispatch_status === 'running' && row.attempts === attempt) return
  throw new ExpiredError(
    `another worker has taken dispatch ${n} of task ${JSON.stringify(task)}, or it ended`,
  )
}
