import type { Queries } from '../../engine/statements.ts'
import { leaseNow, notTrashed } from './columns.ts'
import { listedBranchColumns, shownColumns } from './conversations.ts'
import { taskColumns } from './tasks.ts'

const withBranch = `
  LEFT JOIN LATERAL (
    SELECT * FROM skein.branches x
    WHERE x.tenant = @tenant::text AND x.conv = c.id AND x.name = c.active_branch OFFSET 0) b ON true`

const byIds = `
  unnest(@ids::text[]) AS w(id) JOIN LATERAL (
    SELECT * FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = w.id::uuid OFFSET 0) c`

/** Tasks by their ids, with a fixed plan. */
const tasksOf = `
  JOIN LATERAL (
    SELECT * FROM skein.tasks x WHERE x.tenant = @tenant::text AND x.id = w.id OFFSET 0) t ON true`

/** Finding changes of other processes. */
export const followQueries = {
  followStates: `
    SELECT c.id, c.version, EXISTS (
      SELECT FROM skein.turns t
      WHERE t.tenant = @tenant::text AND t.conv = c.id AND t.status = 'open' AND t.lease_until > ${leaseNow}
    )::int AS streaming
    FROM ${byIds} ON true`,
  recentActivity: `
    SELECT c.id, c.updated_at, c.next_seq, c.title FROM skein.conversations c
    WHERE c.tenant = @tenant::text AND c.updated_at >= @since::bigint AND c.trashed_at IS NULL
    ORDER BY c.updated_at DESC, c.id DESC LIMIT @limit::bigint`,
  listedByIds: `SELECT ${shownColumns}, ${listedBranchColumns} FROM ${byIds} ON ${notTrashed} ${withBranch}`,
  listedFrom: `
    SELECT ${shownColumns}, ${listedBranchColumns} FROM skein.conversations c ${withBranch}
    WHERE c.tenant = @tenant::text AND c.trashed_at IS NULL
      AND (c.updated_at, c.id) > (@after_time::bigint, @after_id::uuid)
    ORDER BY c.updated_at, c.id LIMIT @limit::bigint`,
  recentTasks: `
    SELECT t.id, t.status, t.current, t.dispatches, t.conversation_id, t.updated_at FROM (
      (SELECT id FROM skein.tasks WHERE tenant = @tenant::text AND created_at >= @since::bigint
       ORDER BY created_at DESC, id DESC LIMIT @limit::bigint)
      UNION (SELECT id FROM skein.tasks
       WHERE tenant = @tenant::text AND status = 'queued' AND queued_at >= @queued_since::bigint
       ORDER BY queued_at, id LIMIT @limit::bigint)
      UNION (SELECT id FROM skein.tasks WHERE tenant = @tenant::text AND status = 'running'
       ORDER BY id LIMIT @limit::bigint)
      UNION (SELECT task FROM (
         SELECT c.task FROM skein.conversations c
         WHERE c.tenant = @tenant::text AND c.updated_at >= @since::bigint AND c.trashed_at IS NULL
         ORDER BY c.updated_at DESC, c.id DESC LIMIT @limit::bigint) active
       WHERE task IS NOT NULL)
      UNION SELECT unnest(@known::text[])) w (id)
    ${tasksOf}`,
  tasksByIds: `SELECT ${taskColumns} FROM unnest(@ids::text[]) w (id) ${tasksOf}`,
} satisfies Partial<Queries>
