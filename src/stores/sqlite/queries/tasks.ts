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

function nextQueued(condition: string): string {
  return `
    SELECT ${taskColumns}, ${dispatchColumns}
    FROM (SELECT * FROM skein_tasks WHERE status = 'queued' ${condition} ORDER BY queued_at, t LIMIT 1) t
    CROSS JOIN skein_dispatches d ON d.task = t.id AND d.n = t.current`
}

/** The condition of the partial index is written out, because SQLite cannot conclude it from a parameter. */
function listTasks(condition: string): string {
  return `
    SELECT ${taskColumns} FROM skein_tasks t
    WHERE ${condition} (t.created_at, t.id) < (@created_at, @id)
      AND t.created_at >= @created_from AND t.created_at < @created_before
    ORDER BY t.created_at DESC, t.id DESC LIMIT +@limit`
}

/** Tasks and their dispatches. */
export const taskQueries = {
  nextTaskNumber: `
    INSERT INTO skein_state (name, value) VALUES ('task_number', 1)
    ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value`,
  insertTask: `
    INSERT INTO skein_tasks (
      id, project, description, context, parent, metadata, status, queued_at, created_at, updated_at)
    VALUES (@id, @project, @description, @context, @parent, @metadata, 'queued', @now, @now, @now)
    ON CONFLICT (id) DO NOTHING`,
  insertDispatch: `
    INSERT INTO skein_dispatches (task, n, words, status, created_at) VALUES (@id, @n, @words, @status, @now)`,
  taskById: `SELECT ${taskColumns} FROM skein_tasks t WHERE t.id = @id`,
  lockTaskById: `SELECT ${taskColumns} FROM skein_tasks t WHERE t.id = @id`,
  dispatchByNumber: `
    SELECT ${dispatchColumns} FROM skein_dispatches d JOIN skein_tasks t ON t.id = d.task
    WHERE d.task = @id AND d.n = @n`,
  lockDispatch: `
    SELECT ${taskColumns}, ${dispatchColumns} FROM skein_dispatches d JOIN skein_tasks t ON t.id = d.task
    WHERE d.task = @id AND d.n = @n`,
  nextQueued: nextQueued(''),
  nextQueuedIn: nextQueued('AND project IS NOT NULL AND project = @project'),
  queuedProjects: `
    SELECT p.value AS project FROM json_each(@projects) p
    WHERE EXISTS (SELECT 1 FROM skein_tasks t
      WHERE t.status = 'queued' AND t.project IS NOT NULL AND t.project = p.value)
    ORDER BY (SELECT min(t.queued_at) FROM skein_tasks t
      WHERE t.status = 'queued' AND t.project IS NOT NULL AND t.project = p.value)`,
  setClaimed: `
    UPDATE skein_tasks SET status = 'running', attempts = attempts + 1, holder = @holder, worker = @worker,
      lease_until = @lease_until, started_at = @now, updated_at = @now
    WHERE id = @id`,
  renewClaim: `UPDATE skein_tasks SET lease_until = @lease_until WHERE id = @id`,
  setUnclaimed: `
    UPDATE skein_tasks SET status = 'queued', deaths = @deaths, holder = NULL, lease_until = NULL,
      updated_at = @now
    WHERE id = @id`,
  queueDispatch: `
    UPDATE skein_tasks SET status = 'queued', current = @n, attempts = @attempts, deaths = 0, holder = NULL,
      worker = NULL, lease_until = NULL, cancel_requested = 0, queued_at = @now, started_at = NULL,
      updated_at = @now
    WHERE id = @id`,
  setDispatchActive: `
    UPDATE skein_dispatches SET status = 'active', result = NULL, error = NULL, ended_at = NULL
    WHERE task = @id AND n = @n`,
  endDispatch: `
    UPDATE skein_dispatches SET status = @status, attempts = @attempts, deaths = @deaths, worker = @worker,
      queued_at = @queued_at, started_at = @started_at, result = @result, error = @error, ended_at = @now
    WHERE task = @id AND n = @n`,
  endTask: `
    UPDATE skein_tasks SET status = @status, holder = NULL, lease_until = NULL, cancel_requested = 0,
      updated_at = @now
    WHERE id = @id`,
  addDispatchCount: `
    UPDATE skein_tasks SET dispatches = dispatches + 1, updated_at = @now WHERE id = @id`,
  cancelWaiting: `
    UPDATE skein_dispatches SET status = 'cancelled', ended_at = @now WHERE task = @id AND status = 'waiting'`,
  firstWaiting: `
    SELECT n FROM skein_dispatches WHERE task = @id AND status = 'waiting' ORDER BY n LIMIT 1`,
  requestCancel: `UPDATE skein_tasks SET cancel_requested = 1, updated_at = @now WHERE id = @id`,
  linkDispatch: `
    UPDATE skein_dispatches SET conversation_id = @conversation_id WHERE task = @id AND n = @n`,
  linkTask: `UPDATE skein_tasks SET conversation_id = @conversation_id WHERE id = @id`,
  listTasks: listTasks(''),
  listTasksOf: listTasks('t.project IS NOT NULL AND t.project = @project AND'),
  listTasksIn: listTasks(`t.status <> 'done' AND t.status = @status AND`),
  listTasksOfIn: listTasks(`t.status <> 'done' AND t.status = @status AND +t.project = @project AND`),
  listDoneTasks: listTasks(`t.status = 'done' AND`),
  listDoneTasksOf: listTasks(`t.status = 'done' AND t.project IS NOT NULL AND t.project = @project AND`),
  listDispatches: `
    SELECT ${dispatchColumns} FROM skein_dispatches d JOIN skein_tasks t ON t.id = d.task
    WHERE d.task = @id AND d.n > @after ORDER BY d.n LIMIT +@limit`,
  listRunning: `
    SELECT ${dispatchColumns} FROM skein_tasks t
    CROSS JOIN skein_dispatches d ON d.task = t.id AND d.n = t.current
    WHERE t.status <> 'done' AND t.status = 'running' AND t.id > @after ORDER BY t.id LIMIT +@limit`,
  countTasks: `
    SELECT status, count(*) AS count FROM skein_tasks WHERE status <> 'done' GROUP BY status
    UNION ALL SELECT 'all', count(*) FROM skein_tasks`,
  lockTasksIn: `
    SELECT count(*) AS count FROM skein_tasks WHERE project IS NOT NULL AND project = @project`,
  runningIn: `
    SELECT ${dispatchColumns} FROM skein_tasks t
    CROSS JOIN skein_dispatches d ON d.task = t.id AND d.n = t.current
    WHERE t.status <> 'done' AND t.status = 'running' AND +t.project = @project LIMIT 1`,
  deleteDispatches: `DELETE FROM skein_dispatches WHERE task = @id`,
  deleteTask: `DELETE FROM skein_tasks WHERE id = @id`,
  deleteDispatchesIn: `
    DELETE FROM skein_dispatches WHERE task IN (
      SELECT id FROM skein_tasks WHERE project IS NOT NULL AND project = @project)`,
  deleteTasksIn: `DELETE FROM skein_tasks WHERE project IS NOT NULL AND project = @project`,
  insertTaskRecord: `
    INSERT INTO skein_tasks (
      id, project, description, context, parent, metadata, status, current, dispatches, attempts, deaths, worker,
      queued_at, started_at, conversation_id, created_at, updated_at)
    VALUES (
      @id, @project, @description, @context, @parent, @metadata, @status, @current, @dispatches, @attempts, @deaths,
      @worker, @queued_at, @started_at, @conversation_id, @created_at, @updated_at)
    ON CONFLICT (id) DO NOTHING`,
  insertDispatchRecord: `
    INSERT INTO skein_dispatches (
      task, n, words, status, attempts, deaths, worker, conversation_id, result, error, created_at, queued_at,
      started_at, ended_at)
    VALUES (
      @id, @n, @words, @status, @attempts, @deaths, @worker, @conversation_id, @result, @error, @now, @queued_at,
      @started_at, @ended_at)`,
  raiseTaskNumber: `
    INSERT INTO skein_state (name, value) VALUES ('task_number', @value)
    ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
  taskIds: `SELECT id FROM skein_tasks WHERE id > @after ORDER BY id LIMIT +@limit`,
  checkedTasks: `
    SELECT t.id, t.status, t.current, t.dispatches, count(d.n) AS count, max(d.n) AS highest,
      count(*) FILTER (WHERE d.status = 'active') AS active, max(d.n) FILTER (WHERE d.status = 'active') AS active_n,
      count(*) FILTER (WHERE d.status = 'waiting') AS waiting
    FROM (SELECT * FROM skein_tasks WHERE id > @after ORDER BY id LIMIT +@limit) t
    LEFT JOIN skein_dispatches d ON d.task = t.id
    GROUP BY t.id ORDER BY t.id`,
  looseDispatches: `
    SELECT d.task, count(*) AS count FROM skein_dispatches d INDEXED BY sqlite_autoindex_skein_dispatches_1
    WHERE NOT EXISTS (SELECT 1 FROM skein_tasks t WHERE t.id = d.task)
    GROUP BY d.task LIMIT 100`,
  conversationsOfTask: `
    SELECT id FROM skein_conversations
    WHERE task = @task AND project IS @project AND trashed_at IS NULL ORDER BY id`,
  conversationsOfProject: `
    SELECT id FROM skein_conversations
    WHERE project = @project AND project IS NOT NULL AND trashed_at IS NULL ORDER BY id`,
} satisfies Partial<Queries>
