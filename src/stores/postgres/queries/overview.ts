import type { Queries } from '../../engine/statements.ts'
import { at, turnColumns } from './columns.ts'

/** The conversations with these ids. */
const byIds = `
  unnest(@ids::text[]) AS w(id) JOIN LATERAL (
    SELECT * FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = w.id::uuid OFFSET 0) c ON true`

/** The id of a row directly before or after `w.id`. */
const beside = (table: string, order: '<' | '>', id: string) => `
  (SELECT x.id FROM skein.${table} x WHERE x.tenant = @tenant::text AND x.id ${order} ${id}
  ORDER BY x.id ${order === '<' ? 'DESC' : 'ASC'} LIMIT 1)`

/** Reads of many conversations, or of a section of a path. */
export const overviewQueries = {
  overviews: `
    SELECT c.id,
      (SELECT count(*) FROM skein.branches b WHERE b.tenant = @tenant::text AND b.conv = c.id) AS branches,
      (SELECT m.id FROM skein.messages m
      WHERE m.tenant = @tenant::text AND m.conv = c.id AND m.seq BETWEEN s.lo AND s.lo + 49 AND m.role = 'user'
      ORDER BY m.seq LIMIT 1) AS first_id,
      (SELECT l.agent FROM skein.agent_links l
      WHERE l.tenant = @tenant::text AND l.conv = c.id AND l.branch = c.active_branch
      ORDER BY l.updated_at DESC, l.agent LIMIT 1) AS agent
    FROM ${byIds} LEFT JOIN LATERAL (
      SELECT x.seq AS lo FROM skein.messages x WHERE x.tenant = @tenant::text AND x.conv = c.id
      ORDER BY x.seq LIMIT 1) s ON true`,
  openTurnsOf: `
    SELECT c.id AS conversation_id, ${turnColumns} FROM ${byIds} JOIN LATERAL (
      SELECT * FROM skein.turns x WHERE x.tenant = @tenant::text AND x.conv = c.id AND x.status = 'open' OFFSET 0) t
      ON true
    ORDER BY t.first`,
  versionsByIds: `SELECT c.id, c.version FROM ${byIds}`,
  neighboursOf: `
    SELECT c.id,
      ${beside('conversations', '<', 'c.id')} AS conversation_before,
      ${beside('conversations', '>', 'c.id')} AS conversation_after,
      ${beside('messages', '<', 'w.id')} AS message_before,
      ${beside('messages', '>', 'w.id')} AS message_after
    FROM ${byIds}`,
  turnsAt: `
    SELECT ${turnColumns} FROM unnest(@firsts::int[]) AS w(first) JOIN LATERAL (
      SELECT * FROM skein.turns x WHERE x.tenant = @tenant::text AND x.conv = @conv::uuid AND x.first = w.first OFFSET 0) t
      ON true
    ORDER BY t.first`,
  childrenOf: `
    SELECT w.seq AS parent_seq, m.seq, m.id FROM unnest(@parents::int[]) AS w(seq)
    JOIN ${at('x.seq, x.id, x.parent_seq, x.run', 'w.seq + 1')} m ON m.parent_seq = w.seq AND m.run <> m.seq
    UNION ALL
    SELECT w.seq AS parent_seq, m.seq, m.id FROM unnest(@parents::int[]) AS w(seq) JOIN LATERAL (
      SELECT x.seq, x.id FROM skein.messages x
      WHERE x.tenant = @tenant::text AND x.conv = @conv::uuid AND x.parent_seq = w.seq AND x.run = x.seq
      ORDER BY x.seq LIMIT 100) m ON true`,
  toolEvents: `
    SELECT e.n, e.type, e.at, e.data FROM unnest(@keys::text[]) AS w(key) JOIN LATERAL (
      SELECT * FROM skein.events x
      WHERE x.tenant = @tenant::text AND x.conv = @conv::uuid AND x.type IN ('tool_started', 'tool_ended')
        AND skein.tool_key(x.data) = w.key
      OFFSET 0) e ON true
    ORDER BY e.n DESC LIMIT 10000`,
} satisfies Partial<Queries>
