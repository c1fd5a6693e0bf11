import type { Queries } from '../../engine/statements.ts'
import { turnColumns } from './columns.ts'

/** The key of a tool event, as in its index. */
const toolKey = `CASE WHEN json_valid(e.data) THEN coalesce(
  json_extract(e.data, '$.message'), json_extract(e.data, '$.call'), json_extract(e.data, '$.callId')) END`

export const overviewQueries = {
  overviews: `
    SELECT c.id,
      (SELECT count(*) FROM skein_branches b WHERE b.conv = c.c) AS branches,
      (SELECT m.id FROM skein_messages m WHERE m.conv = c.c AND m.role = 'user'
        AND m.seq < (SELECT x.seq + 50 FROM skein_messages x WHERE x.conv = c.c ORDER BY x.seq LIMIT 1)
      ORDER BY m.seq LIMIT 1) AS first_id,
      (SELECT l.agent FROM skein_agent_links l WHERE l.conv = c.c AND l.branch = c.active_branch
      ORDER BY l.updated_at DESC, l.agent LIMIT 1) AS agent
    FROM json_each(@ids) w CROSS JOIN skein_conversations c ON c.id = w.value`,
  openTurnsOf: `
    SELECT c.id AS conversation_id, ${turnColumns}
    FROM json_each(@ids) w CROSS JOIN skein_conversations c ON c.id = w.value
    CROSS JOIN skein_turns t INDEXED BY skein_turns_open ON t.conv = c.c AND t.status = 'open'
    ORDER BY t.first`,
  versionsByIds: `
    SELECT c.id, c.version FROM json_each(@ids) w CROSS JOIN skein_conversations c ON c.id = w.value`,
  neighboursOf: `
    SELECT c.id,
      (SELECT x.id FROM skein_conversations x WHERE x.id < c.id ORDER BY x.id DESC LIMIT 1) AS conversation_before,
      (SELECT x.id FROM skein_conversations x WHERE x.id > c.id ORDER BY x.id LIMIT 1) AS conversation_after,
      (SELECT x.id FROM skein_messages x WHERE x.id < c.id ORDER BY x.id DESC LIMIT 1) AS message_before,
      (SELECT x.id FROM skein_messages x WHERE x.id > c.id ORDER BY x.id LIMIT 1) AS message_after
    FROM json_each(@ids) w CROSS JOIN skein_conversations c ON c.id = w.value`,
  turnsAt: `
    SELECT ${turnColumns} FROM json_each(@firsts) w
    CROSS JOIN skein_turns t ON t.conv = @conv AND t.first BETWEEN w.value AND w.value ORDER BY t.first`,
  childrenOf: `
    SELECT m.parent_seq, m.seq, m.id FROM json_each(@parents) w CROSS JOIN skein_messages m
      ON m.conv = @conv AND m.seq = w.value + 1 AND m.parent_seq = w.value AND m.run <> m.seq
    UNION ALL
    SELECT m.parent_seq, m.seq, m.id FROM json_each(@parents) w CROSS JOIN skein_messages m
      ON m.conv = @conv AND m.seq IN (
        SELECT x.seq FROM skein_messages x INDEXED BY skein_messages_fork
        WHERE x.conv = @conv AND x.parent_seq = w.value AND x.run = x.seq ORDER BY x.seq LIMIT 100)`,
  // The plus keeps SQLite from reading all events of the conversation by the primary key.
  toolEvents: `
    SELECT e.n, e.type, e.at, e.data FROM json_each(@keys) w CROSS JOIN skein_events e
      ON ${toolKey} = w.value AND +e.conv = @conv AND e.type IN ('tool_started', 'tool_ended')
    ORDER BY e.n DESC LIMIT 10000`,
} satisfies Partial<Queries>
