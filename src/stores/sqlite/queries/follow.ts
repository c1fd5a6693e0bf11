import type { Queries } from '../../engine/statements.ts'
import { listedBranchColumns, shownColumns } from './conversations.ts'

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
} satisfies Partial<Queries>
