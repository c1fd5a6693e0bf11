import { dispatchColumns, taskColumns } from './tasks.ts'

/** The statements of `quick-claim.ts`. The shared program has the same effect in more round trips. */

function quickClaim(condition: string): string {
  return `
    WITH t AS (
      UPDATE skein.tasks SET status = 'running', attempts = attempts + 1, holder = @holder::text,
        worker = @worker::text, lease_until = @lease_until::bigint, started_at = @now::bigint,
        updated_at = @now::bigint
      WHERE tenant = @tenant::text AND id = (
        SELECT q.id FROM skein.tasks q
        WHERE q.tenant = @tenant::text AND q.status = 'queued' ${condition}
        ORDER BY q.queued_at, q.id LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING *)
    SELECT ${taskColumns}, ${dispatchColumns} FROM t
    JOIN LATERAL (
      SELECT * FROM skein.dispatches x
      WHERE x.tenant = @tenant::text AND x.task = t.id AND x.n = t.current OFFSET 0) d ON true`
}

export const quickClaimSql = quickClaim('')
export const quickClaimInSql = quickClaim('AND q.project IS NOT NULL AND q.project = @project::text')

/** Only the last dispatch of a task: another one may have to take its place. */
export const quickFinishSql = `
  WITH t AS (
    UPDATE skein.tasks SET status = @status::text, holder = NULL, lease_until = NULL, cancel_requested = 0,
      updated_at = @now::bigint
    WHERE tenant = @tenant::text AND id = @id::text AND status = 'running' AND current = @n::int
      AND dispatches = @n::int AND attempts = @attempt::int
    RETURNING *),
  d AS (
    UPDATE skein.dispatches y SET status = @status::text, attempts = t.attempts, deaths = 0, worker = t.worker,
      queued_at = t.queued_at, started_at = t.started_at, result = @result::text, error = @error::text,
      ended_at = @now::bigint
    FROM t WHERE y.tenant = @tenant::text AND y.task = @id::text AND y.n = @n::int
    RETURNING y.*)
  SELECT ${dispatchColumns} FROM t CROSS JOIN d`
