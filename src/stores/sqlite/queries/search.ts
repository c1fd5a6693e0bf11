import type { Queries } from '../../engine/statements.ts'
import { looseColumns } from './columns.ts'
import { whereAll } from './lists.ts'

const candidatesWhere = (condition: string) => `
    SELECT m.conv, c.id AS conversation_id, m.seq, m.at, m.body
    FROM skein_search CROSS JOIN skein_search_map s ON s.r = skein_search.rowid
    CROSS JOIN skein_messages m ON m.n = s.n
    CROSS JOIN skein_conversations c ON c.c = m.conv
    WHERE skein_search MATCH @match
      AND skein_search.rowid >= min(@from, 8796093022206) << 20
      AND skein_search.rowid < (min(@upto, 8796093022206) + 1) << 20
      AND m.at >= @from AND m.at <= @upto
      AND c.trashed_at IS NULL
      AND (@directories IS NULL OR c.directory IN (SELECT value FROM json_each(@directories))) AND (@kind IS NULL OR c.kind = @kind)
      AND ${condition}
    ORDER BY skein_search.rowid DESC LIMIT +@limit`

export const searchQueries = {
  unindexed: `
    SELECT c AS conv, unindexed_from AS indexed_seq, next_seq
    FROM skein_conversations INDEXED BY skein_conversations_unindexed
    WHERE unindexed_from IS NOT NULL AND c > coalesce(@after, -1) ORDER BY c LIMIT +@limit`,
  unindexedNewest: `
    SELECT c AS conv, unindexed_from AS indexed_seq, next_seq, updated_at, directory, kind
    FROM skein_conversations INDEXED BY skein_conversations_unindexed
    WHERE unindexed_from IS NOT NULL AND trashed_at IS NULL ORDER BY c DESC LIMIT +@limit`,
  unindexedMessages: `
    SELECT m.conv, c.id AS conversation_id, m.seq, m.at, m.role, m.body
    FROM skein_conversations c INDEXED BY skein_conversations_unindexed
    CROSS JOIN skein_messages m INDEXED BY skein_messages_seq ON m.conv = c.c AND m.seq >= c.unindexed_from
    WHERE c.unindexed_from IS NOT NULL AND c.trashed_at IS NULL LIMIT +@limit`,
  messagesIn: `
    SELECT m.conv, c.id AS conversation_id, m.seq, m.at, m.role, m.body
    FROM json_each(@spans) w
    CROSS JOIN skein_conversations c ON c.c = w.value ->> 'conv'
    CROSS JOIN skein_messages m INDEXED BY skein_messages_seq
      ON m.conv = c.c AND m.seq BETWEEN w.value ->> 'lo' AND w.value ->> 'hi'`,
  markIndexed: `
    UPDATE skein_conversations AS c
    SET unindexed_from = CASE WHEN w.value ->> 'seq_to' < c.next_seq THEN w.value ->> 'seq_to' END
    FROM json_each(@marks) w
    WHERE c.c = w.value ->> 'conv' AND c.unindexed_from = w.value ->> 'seq_from'
    RETURNING c AS conv`,
  // Times after the year 2248 share one millisecond, so that 63 bits are enough.
  putSearchEntry: [
    `
    INSERT INTO skein_search_map (r, n, form)
    SELECT coalesce(
      (SELECT max(x.r) + 1 FROM skein_search_map x
       WHERE x.r >= min(m.at, 8796093022206) << 20 AND x.r < (min(m.at, 8796093022206) + 1) << 20),
      min(m.at, 8796093022206) << 20), m.n, 2
    FROM skein_messages m WHERE m.conv = @conv AND m.seq = @seq AND m.body IS NOT NULL`,
    `
    INSERT INTO skein_search (rowid, tokens)
    SELECT s.r, @tokens FROM skein_messages m JOIN skein_search_map s ON s.n = m.n
    WHERE m.conv = @conv AND m.seq = @seq`,
  ],
  deleteSearchEntries: [
    `
    DELETE FROM skein_search WHERE rowid IN (
      SELECT s.r FROM skein_messages m CROSS JOIN skein_search_map s ON s.n = m.n
      WHERE m.conv = @conv AND m.seq BETWEEN @lo AND @hi)`,
    `
    DELETE FROM skein_search_map WHERE n IN (
      SELECT m.n FROM skein_messages m WHERE m.conv = @conv AND m.seq BETWEEN @lo AND @hi)`,
  ],
  // Most pages to merge: as many as 96 messages take, once for each level of segments.
  tidyIndex: `INSERT INTO skein_search (skein_search, rank) VALUES ('merge', 64)`,
  // The segments, by a step from each to the next: there are many rows of each.
  indexParts: `
    WITH RECURSIVE part(id) AS (
      SELECT min(segid) FROM skein_search_idx
      UNION ALL
      SELECT (SELECT min(x.segid) FROM skein_search_idx x WHERE x.segid > part.id) FROM part
      WHERE part.id IS NOT NULL
    )
    SELECT count(id) AS parts FROM part`,
  indexForm: `SELECT value AS form FROM skein_state WHERE name = 'index_form'`,
  clearSearch: [
    `
    INSERT INTO skein_search (skein_search) VALUES ('delete-all')`,
    `
    DELETE FROM skein_search_map`,
  ],
  resetIndexed: `UPDATE skein_conversations SET unindexed_from = 0 WHERE next_seq > 0 AND unindexed_from IS NOT 0`,
  candidates: candidatesWhere('true'),
  scopedCandidates: filters =>
    candidatesWhere(`m.conv IN (SELECT c.c FROM skein_conversations c WHERE ${whereAll(filters)})`),
  searchFloor: `
    SELECT rowid >> 20 AS at FROM skein_search
    WHERE skein_search MATCH @match
      AND rowid >= min(@from, 8796093022206) << 20 AND rowid < (min(@upto, 8796093022206) + 1) << 20
    ORDER BY rowid DESC LIMIT 1 OFFSET +@span`,
  foundMessages: `
    SELECT ${looseColumns}, m.conv, c.title, c.kind, c.directory, c.channel
    FROM json_each(@places) w
    CROSS JOIN skein_messages m ON m.conv = w.value ->> 'conv' AND m.seq = w.value ->> 'seq'
    CROSS JOIN skein_conversations c ON c.c = m.conv`,
  branchesHolding: `
    SELECT c.c AS conv, w.value ->> 'seq' AS seq, b.name, b.name = c.active_branch AS active
    FROM json_each(@places) w
    CROSS JOIN skein_conversations c ON c.c = w.value ->> 'conv'
    CROSS JOIN skein_branches b ON b.conv = c.c AND b.head_seq >= w.value ->> 'seq'
    WHERE EXISTS (
      WITH RECURSIVE r(lo, hi) AS (
        SELECT b.head_run, b.head_seq
        UNION ALL
        SELECT p.run, p.seq FROM r
        CROSS JOIN skein_messages f ON f.conv = b.conv AND f.seq = r.lo AND r.lo > w.value ->> 'seq'
        CROSS JOIN skein_messages p ON p.conv = b.conv AND p.seq = f.parent_seq AND p.seq < r.hi
      )
      SELECT 1 FROM r WHERE w.value ->> 'seq' BETWEEN r.lo AND r.hi)
    ORDER BY c.c, seq, active DESC, b.name`,
} satisfies Partial<Queries>
