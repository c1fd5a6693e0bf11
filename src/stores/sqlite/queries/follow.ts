import type { Queries } from '../../engine/statements.ts'
import { listedBranchColumns, shownColumns } from './conversations.ts'
import { taskColumns } from './tasks.ts'

const listedColumns = `
  SELECT ${shownColumns}, ${listedBranchColumns} FROM skein_conversations c
  LEFT JOIN skein_branches b ON b.conv = c.c AND b.name = c.active_branch`

export const followQueries = {
  followStates: `
    SELECT c.id, c.version, EXISTS (
      SELECT 1 FROM skein_turns t INDEXED BY skein_turns_open
      WHERE t.conv = c.c AND t.status = 'open' AND t.lease_until > @now) AS streaming
    FROM json_each(@ids) w CROSS JOIN skein_conversations c ON c.id = w.value`,
  recentActivity: `
    SELECT c.id, c.updated_at, c.next_seq, c.title FROM skein_conversations c
    WHERE c.updated_at >= @since AND c.trashed_at IS NULL ORDER BY c.updated_at DESC, c.id DESC LIMIT +@limit`,
  listedByIds: `
    ${listedColumns} WHERE c.id IN (SELECT value FROM json_each(@ids)) AND c.trashed_at IS NULL`,
  listedFrom: `
    ${listedColumns} WHERE (c.updated_at, c.id) > (@after_time, @after_id) AND c.trashed_at IS NULL
    ORDER BY c.updated_at, c.id LIMIT +@limit`,
  recentTasks: `
    SELECT t.id, t.status, t.current, t.dispatches, t.conversation_id, t.updated_at FROM (
      SELECT id FROM (
        SELECT id FROM skein_tasks WHERE created_at >= @since ORDER BY created_at DESC, id DESC LIMIT +@limit)
      UNION SELECT id FROM (
        SELECT id FROM skein_tasks WHERE status = 'queued' AND queued_at >= @queued_since
        ORDER BY queued_at, t LIMIT +@limit)
      UNION SELECT id FROM (SELECT id FROM skein_tasks WHERE status = 'running' ORDER BY id LIMIT +@limit)
      UNION SELECT task FROM (
        SELECT c.task, c.trashed_at FROM skein_conversations c WHERE c.updated_at >= @since
        AND c.trashed_at IS NULL ORDER BY c.updated_at DESC, c.id DESC LIMIT +@limit) WHERE task IS NOT NULL
      UNION SELECT value FROM json_each(@known)) w
    CROSS JOIN skein_tasks t ON t.id = w.id`,
  tasksByIds: `
    SELECT ${taskColumns} FROM json_each(@ids) w CROSS JOIN skein_tasks t ON t.id = w.value`,
} satisfies Partial<Queries>
