import type { Store } from '../../core/ports.ts'
import type { ClaimedDispatch, Dispatch, DispatchClaim, DispatchEnd } from '../../core/task.ts'
import { leaseMs } from '../../core/turn.ts'
import { checkClaim, checkClaimFilter, checkClaimRequest, checkDispatchEnd } from '../check/task.ts'
import { dispatchFromRow, taskFromRow } from '../engine/row-to-task.ts'
import { holderText } from '../engine/row-to-value.ts'
import type { DispatchRow, QueueRow } from '../engine/task-rows.ts'
import type { PostgresEngine } from './engine.ts'
import { isLostRace, translate } from './errors.ts'
import { bind, type PreparedStatement, prepare } from './prepared.ts'
import { quickClaimInSql, quickClaimSql, quickFinishSql } from './queries/tasks.ts'

const claimAny = prepare(quickClaimSql, 'quickClaim')
const claimIn = prepare(quickClaimInSql, 'quickClaimIn')
const finishOne = prepare(quickFinishSql, 'quickFinish')

/** A store that claims and finishes ordinary dispatches with one statement in one round trip each. Everything
 *  else (several projects, dispatches that wait, a lost claim, a retry) is passed to the given store. */
export function withQuickClaim(store: Store, engine: PostgresEngine): Store {
  return {
    ...store,
    claimDispatch: async (request, filter = {}) => {
      const { holder, worker } = checkClaimRequest(request)
      const { projects } = checkClaimFilter(filter)
      if (projects && projects.length > 1) return store.claimDispatch(request, filter)
      const now = engine.source.now()
      const held = { holder: holderText(holder), worker, lease_until: now + leaseMs, now }
      const rows = projects
        ? await once<QueueRow>(engine, claimIn, { ...held, project: projects[0]! })
        : await once<QueueRow>(engine, claimAny, held)
      if (rows === null) return store.claimDispatch(request, filter)
      return rows[0] ? claimedFrom(rows[0]) : null
    },
    finishDispatch: async (claim, end) =>
      (await quickFinish(engine, checkClaim(claim), checkDispatchEnd(end))) ??
      store.finishDispatch(claim, end),
  }
}

function claimedFrom(row: QueueRow): ClaimedDispatch {
  const claim = { task: row.id, n: row.n, attempt: row.attempts }
  return { task: taskFromRow(row), dispatch: dispatchFromRow(row), claim }
}

/** Finishes the last dispatch of a task, if the claim is valid. Otherwise writes nothing and returns null. */
async function quickFinish(
  engine: PostgresEngine,
  { task, n, attempt }: DispatchClaim,
  { status, result, error }: DispatchEnd,
): Promise<Dispatch | null> {
  const end = { status, result: result === undefined ? null : JSON.stringify(result), error: error ?? null }
  const params = { id: task, n, attempt, ...end, now: engine.source.now() }
  const [row] = (await once<DispatchRow>(engine, finishOne, params)) ?? []
  return row ? dispatchFromRow(row) : null
}

/** The rows of a statement that is its own transaction. Null after a lost race. */
async function once<Row>(
  engine: PostgresEngine,
  statement: PreparedStatement,
  params: object,
): Promise<readonly Row[] | null> {
  try {
    const [result] = await engine.once([bind(statement, { ...params, tenant: engine.tenant })])
    return result!.rows as unknown as readonly Row[]
  } catch (error) {
    if (isLostRace(error)) return null
    throw translate(error)
  }
}
