import type { Queries } from '../../engine/statements.ts'

/** The columns of a task. */
export const taskColumns = `
  t.id, t.project, t.description, t.context, t.parent, t.metadata, t.status, t.current, t.dispatches,
  t.conversation_id, t.created_at, t.updated_at`

/** The state of the queued or running dispatch is in the row of its task. */
const active = (column: string) => `CASE d.status WHEN 'active' THEN t.${column} ELSE d.${column} END`

const dispatchColumns = `
  d.task, d.n, d.words, ${active('status')} AS dispatch_status, ${active('attempts')} AS attempts,
  ${active('deaths')} AS deaths, t.holder, ${active('worker')} AS worker, t.lease_until,
  CASE d.status WHEN 'active' THEN t.cancel_requested ELSE 0 END AS cancel_requested,
  d.conversation_id AS dispatch_conversation, d.result, d.error, d.created_at AS dispatched_at,
  ${active('queued_at')} AS queued_at, ${active('started_at')} AS started_at, d.ended_at`

const oneTask = `tenant = @tenant::text AND id = @id::text`
const oneDispatch = `tenant = @tenant::text AND task = @id::text AND n = @n::int`

/** The dispatch of a task, with a fixed plan. */
const dispatchOf = (n: string) => `
  JOIN LATERAL (
    SELECT * FROM skein.dispatches x
    WHERE x.tenant = @tenant::text AND x.task = t.id AND x.n = ${n} OFFSET 0) d ON true`

function nextQueued(condition: string): string {
  return `
    SELECT ${taskColumns}, ${dispatchColumns}
    FROM (
      SELECT * FROM skein.tasks
      WHERE tenant = @tenant::text AND status = 'queued' ${condition}
      ORDER BY queued_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) t
    ${dispatchOf('t.current')}`
}

function listTasks(condition: string): string {
  return `
    SELECT ${taskColumns} FROM skein.tasks t
    WHERE t.tenant = @tenant::text AND ${condition} (t.created_at, t.id) < (@created_at::bigint, @id::text)
      AND t.created_at >= @created_from::bigint AND t.created_at < @created_before::bigint
    ORDER BY t.created_at DESC, t.id DESC LIMIT @limit::bigint`
}

/** Tasks and their dispatches. */
export const taskQueries = {
  nextTaskNumber: `
    INSERT INTO skein.state (tenant, name, value) VALUES (@tenant::text, 'task_number', 1)
    ON CONFLICT (tenant, name) DO UPDATE SET value = state.value + 1 RETURNING value`,
  insertTask: `
    INSERT INTO skein.tasks (
      tenant, id, project, description, context, parent, metadata, status, queued_at, created_at, updated_at)
    VALUES (
      @tenant::text, @id::text, @project::text, @description::text, @context::text, @parent::text,
      @metadata::text, 'queued', @now::bigint, @now::bigint, @now::bigint)
    ON CONFLICT (tenant, id) DO NOTHING`,
  insertDispatch: `
    INSERT INTO skein.dispatches (tenant, task, n, words, status, created_at)
    VALUES (@tenant::text, @id::text, @n::int, @words::text, @status::text, @now::bigint)`,
  taskById: `SELECT ${taskColumns} FROM skein.tasks t WHERE t.tenant = @tenant::text AND t.id = @id::text`,
  lockTaskById: `
    SELECT ${taskColumns} FROM skein.tasks t WHERE t.tenant = @tenant::text AND t.id = @id::text FOR UPDATE`,
  dispatchByNumber: `
    SELECT ${dispatchColumns} FROM (SELECT * FROM skein.tasks WHERE ${oneTask} OFFSET 0) t
    ${dispatchOf('@n::int')}`,
  lockDispatch: `
    SELECT ${taskColumns}, ${dispatchColumns} FROM (SELECT * FROM skein.tasks WHERE ${oneTask} FOR UPDATE) t
    ${dispatchOf('@n::int')}`,
  nextQueued: nextQueued(''),
  nextQueuedIn: nextQueued('AND project IS NOT NULL AND project = @project::text'),
  queuedProjects: `
    SELECT p.project FROM unnest(@projects::text[]) AS p (project)
    JOIN LATERAL (
      SELECT t.queued_at FROM skein.tasks t
      WHERE t.tenant = @tenant::text AND t.status = 'queued' AND t.project IS NOT NULL AND t.project = p.project
      ORDER BY t.queued_at LIMIT 1) q ON true
    ORDER BY q.queued_at`,
  setClaimed: `
    UPDATE skein.tasks SET status = 'running', attempts = attempts + 1, holder = @holder::text,
      worker = @worker::text, lease_until = @lease_until::bigint, started_at = @now::bigint,
      updated_at = @now::bigint
    WHERE ${oneTask}`,
  renewClaim: `UPDATE skein.tasks SET lease_until = @lease_until::bigint WHERE ${oneTask}`,
  setUnclaimed: `
    UPDATE skein.tasks SET status = 'queued', deaths = @deaths::int, holder = NULL, lease_until = NULL,
      updated_at = @now::bigint
    WHERE ${oneTask}`,
  queueDispatch: `
    UPDATE skein.tasks SET status = 'queued', current = @n::int, attempts = @attempts::int, deaths = 0,
      holder = NULL, worker = NULL, lease_until = NULL, cancel_requested = 0, queued_at = @now::bigint,
      started_at = NULL, updated_at = @now::bigint
    WHERE ${oneTask}`,
  setDispatchActive: `
    UPDATE skein.dispatches SET status = 'active', result = NULL, error = NULL, ended_at = NULL
    WHERE ${oneDispatch}`,
  endDispatch: `
    UPDATE skein.dispatches SET status = @status::text, attempts = @attempts::int, deaths = @deaths::int,
      worker = @worker::text, queued_at = @queued_at::bigint, started_at = @started_at::bigint,
      result = @result::text, error = @error::text, ended_at = @now::bigint
    WHERE ${oneDispatch}`,
  endTask: `
    UPDATE skein.tasks SET status = @status::text, holder = NULL, lease_until = NULL, cancel_requested = 0,
      updated_at = @now::bigint
    WHERE ${oneTask}`,
  addDispatchCount: `
    UPDATE skein.tasks SET dispatches = dispatches + 1, updated_at = @now::bigint WHERE ${oneTask}`,
  cancelWaiting: `
    UPDATE skein.dispatches SET status = 'cancelled', ended_at = @now::bigint
    WHERE tenant = @tenant::text AND task = @id::text AND status = 'waiting'`,
  firstWaiting: `
    SELECT n FROM skein.dispatches
    WHERE tenant = @tenant::text AND task = @id::text AND status = 'waiting' ORDER BY n LIMIT 1`,
  requestCancel: `
    UPDATE skein.tasks SET cancel_requested = 1, updated_at = @now::bigint WHERE ${oneTask}`,
  linkDispatch: `
    UPDATE skein.dispatches SET conversation_id = @conversation_id::uuid WHERE ${oneDispatch}`,
  linkTask: `UPDATE skein.tasks SET conversation_id = @conversation_id::uuid WHERE ${oneTask}`,
  listTasks: listTasks(''),
  listTasksOf: listTasks('t.project IS NOT NULL AND t.project = @project::text AND'),
  listTasksIn: listTasks(`t.status <> 'done' AND t.status = @status::text AND`),
  // || '' hides the project from the planner: the index of tasks that are not done is the smaller one.
  listTasksOfIn: listTasks(
    `t.status <> 'done' AND t.status = @status::text AND t.project || '' = @project::text AND`,
  ),
  listDoneTasks: listTasks(`t.status = 'done' AND`),
  listDoneTasksOf: listTasks(
    `t.status = 'done' AND t.project IS NOT NULL AND t.project = @project::text AND`,
  ),
  listDispatches: `
    SELECT ${dispatchColumns} FROM skein.dispatches d
    JOIN LATERAL (SELECT * FROM skein.tasks WHERE ${oneTask} OFFSET 0) t ON true
    WHERE d.tenant = @tenant::text AND d.task = @id::text AND d.n > @after::int ORDER BY d.n LIMIT @limit::bigint`,
  listRunning: `
    SELECT ${dispatchColumns}
    FROM (
      SELECT * FROM skein.tasks
      WHERE tenant = @tenant::text AND status = 'running' AND id > @after::text
      ORDER BY id LIMIT @limit::bigint) t
    ${dispatchOf('t.current')}
    ORDER BY t.id`,
  countTasks: `
    SELECT status, count(*) AS count FROM skein.tasks
    WHERE tenant = @tenant::text AND status <> 'done' GROUP BY status
    UNION ALL SELECT 'all', count(*) FROM skein.tasks WHERE tenant = @tenant::text`,
  lockTasksIn: `
    SELECT count(*) AS count FROM (
      SELECT FROM skein.tasks
      WHERE tenant = @tenant::text AND project IS NOT NULL AND project = @project::text
      ORDER BY id FOR UPDATE) t`,
  runningIn: `
    SELECT ${dispatchColumns}
    FROM (
      SELECT * FROM skein.tasks
      WHERE tenant = @tenant::text AND status = 'running' AND project || '' = @project::text LIMIT 1) t
    ${dispatchOf('t.current')}`,
  deleteDispatches: `DELETE FROM skein.dispatches WHERE tenant = @tenant::text AND task = @id::text`,
  deleteTask: `DELETE FROM skein.tasks WHERE ${oneTask}`,
  deleteDispatchesIn: `
    DELETE FROM skein.dispatches WHERE tenant = @tenant::text AND task IN (
      SELECT id FROM skein.tasks
      WHERE tenant = @tenant::text AND project IS NOT NULL AND project = @project::text)`,
  deleteTasksIn: `
    DELETE FROM skein.tasks
    WHERE tenant = @tenant::text AND project IS NOT NULL AND project = @project::text`,
  insertTaskRecord: `
    INSERT INTO skein.tasks (
      tenant, id, project, description, context, parent, metadata, status, current, dispatches, attempts, deaths,
      worker, queued_at, started_at, conversation_id, created_at, updated_at)
    VALUES (
      @tenant::text, @id::text, @project::text, @description::text, @context::text, @parent::text, @metadata::text,
      @status::text, @current::int, @dispatches::int, @attempts::int, @deaths::int, @worker::text,
      @queued_at::bigint, @started_at::bigint, @conversation_id::uuid, @created_at::bigint, @updated_at::bigint)
    ON CONFLICT (tenant, id) DO NOTHING`,
  insertDispatchRecord: `
    INSERT INTO skein.dispatches (
      tenant, task, n, words, status, attempts, deaths, worker, conversation_id, result, error, created_at,
      queued_at, started_at, ended_at)
    VALUES (
      @tenant::text, @id::text, @n::int, @words::text, @status::text, @attempts::int, @deaths::int, @worker::text,
      @conversation_id::uuid, @result::text, @error::text, @now::bigint, @queued_at::bigint, @started_at::bigint,
      @ended_at::bigint)`,
  raiseTaskNumber: `
    INSERT INTO skein.state (tenant, name, value) VALUES (@tenant::text, 'task_number', @value::bigint)
    ON CONFLICT (tenant, name) DO UPDATE SET value = greatest(state.value, excluded.value)`,
  taskIds: `
    SELECT id FROM skein.tasks
    WHERE tenant = @tenant::text AND id > @after::text ORDER BY id LIMIT @limit::bigint`,
  checkedTasks: `
    SELECT t.id, t.status, t.current, t.dispatches, count(d.n) AS count, max(d.n) AS highest,
      count(*) FILTER (WHERE d.status = 'active') AS active, max(d.n) FILTER (WHERE d.status = 'active') AS active_n,
      count(*) FILTER (WHERE d.status = 'waiting') AS waiting
    FROM (
      SELECT * FROM skein.tasks
      WHERE tenant = @tenant::text AND id > @after::text ORDER BY id LIMIT @limit::bigint) t
    LEFT JOIN LATERAL (
      SELECT x.n, x.status FROM skein.dispatches x
      WHERE x.tenant = @tenant::text AND x.task = t.id OFFSET 0) d ON true
    GROUP BY t.id, t.status, t.current, t.dispatches ORDER BY t.id`,
  looseDispatches: `
    SELECT d.task, count(*) AS count FROM skein.dispatches d
    WHERE d.tenant = @tenant::text AND NOT EXISTS (
      SELECT FROM skein.tasks t WHERE t.tenant = @tenant::text AND t.id = d.task)
    GROUP BY d.task LIMIT 100`,
  conversationsOfTask: `
    SELECT c.id FROM (
      SELECT id, project, trashed_at FROM skein.conversations
      WHERE tenant = @tenant::text AND task = @task::text OFFSET 0) c
    WHERE c.project IS NOT DISTINCT FROM @project::text AND c.trashed_at IS NULL ORDER BY c.id`,
  conversationsOfProject: `
    SELECT id FROM skein.conversations
    WHERE tenant = @tenant::text AND project = @project::text AND project IS NOT NULL AND trashed_at IS NULL
    ORDER BY id`,
} satisfies Partial<Queries>

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
