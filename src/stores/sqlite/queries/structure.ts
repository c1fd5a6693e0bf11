import type { Queries } from '../../engine/statements.ts'
import type { StructureStatements } from '../../engine/statements-structure.ts'

/** The next seq whose run is compared, between `lo` in the run and `hi` after it: the next one, the last one,
 *  and then in steps that double. */
const probe = `
  CASE w.k WHEN 0 THEN w.lo + 1 WHEN 1 THEN w.hi - 1
    ELSE w.lo + min(1 << min(w.k - 1, 30), (w.hi - w.lo) / 2) END`

const last = (upTo: string) => `
  (SELECT max(x.seq) FROM skein_messages x WHERE x.conv = @conv AND x.seq <= ${upTo})`

/** Stretches one after another. Each begins at the first message after the one before (m) and ends at the
 *  next message with a fork (g) if this is in the same run, and otherwise with its run. No index has the
 *  starts of runs in their order, so that end is searched for: runs ascend, and one that begins after m is
 *  known, that of g or the last one of the conversation (e).
 *
 *  A row is a step: `lo` belongs to the stretch that begins at `p`, and `hi` to a later run. If nothing is
 *  between them, the stretch is complete. */
const stretches = `
  WITH RECURSIVE
    e(seq, run) AS (SELECT z.seq, z.run FROM skein_messages z WHERE z.conv = @conv ORDER BY z.seq DESC LIMIT 1),
    w(n, p, run, lo, hi, k) AS (
      SELECT 0, NULL, NULL, @after, @after, 0
      UNION ALL
      SELECT w.n + 1, m.seq, m.run,
        CASE WHEN g.run = m.run THEN g.seq WHEN m.run >= e.run THEN e.seq ELSE m.seq END,
        CASE WHEN g.run = m.run OR m.run >= e.run THEN 0 ELSE coalesce(g.run, e.run) END, 0
      FROM w CROSS JOIN e
      CROSS JOIN skein_messages m ON m.conv = @conv AND m.seq = (
        SELECT min(x.seq) FROM skein_messages x WHERE x.conv = @conv AND x.seq > w.lo)
      LEFT JOIN skein_messages g ON g.conv = @conv AND g.seq = (
        SELECT min(f.parent_seq) FROM skein_messages f INDEXED BY skein_messages_fork
        WHERE f.conv = @conv AND f.run = f.seq AND f.parent_seq >= m.seq)
      WHERE w.hi <= w.lo + 1 AND w.n < @limit
      UNION ALL
      SELECT w.n, w.p, w.run,
        CASE WHEN y.run > w.run THEN w.lo ELSE ${probe} END,
        CASE WHEN y.run > w.run THEN max(w.lo + 1, min(y.run, ${probe})) ELSE w.hi END, w.k + 1
      FROM w CROSS JOIN skein_messages y ON y.conv = @conv AND y.seq = ${last(probe)}
      WHERE w.hi > w.lo + 1
    )
  SELECT f.seq AS first_seq, f.id AS first_id, f.at AS first_at, f.path_tokens - f.tokens AS before_tokens,
    f.parent_seq, u.id AS parent_id, l.seq AS last_seq, l.id AS last_id, l.at AS last_at, l.path_tokens
  FROM w CROSS JOIN skein_messages f ON f.conv = @conv AND f.seq = w.p
  CROSS JOIN skein_messages l ON l.conv = @conv AND l.seq = ${last('w.lo')}
  LEFT JOIN skein_messages u ON u.conv = @conv AND u.seq = f.parent_seq
  WHERE w.hi <= w.lo + 1 ORDER BY w.p`

/** UNION, so that a run is read once. If damage says that a parent is after its child, the climb ends there
 *  instead of looping. */
const runParents = `
  WITH RECURSIVE r(run, parent_seq, parent_run) AS (
    SELECT f.seq, f.parent_seq, p.run FROM json_each(@runs) v
    CROSS JOIN skein_messages f ON f.conv = @conv AND f.seq = v.value
    LEFT JOIN skein_messages p ON p.conv = @conv AND p.seq = f.parent_seq
    UNION
    SELECT f.seq, f.parent_seq, p.run FROM r
    CROSS JOIN skein_messages f ON f.conv = @conv AND f.seq = r.parent_run AND r.parent_run < r.run
    LEFT JOIN skein_messages p ON p.conv = @conv AND p.seq = f.parent_seq
    LIMIT +@limit
  )
  SELECT run, parent_seq, parent_run FROM r`

export const structureQueries = {
  stretches,
  runParents,
  runStarts: `
    SELECT seq, parent_seq FROM skein_messages INDEXED BY skein_messages_fork
    WHERE conv = @conv AND run = seq AND (parent_seq, seq) > (@parent_seq, @seq) AND seq >= @from
    ORDER BY parent_seq, seq LIMIT +@limit`,
} satisfies Pick<Queries, keyof StructureStatements>
