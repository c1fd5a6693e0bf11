import type { Queries } from '../../engine/statements.ts'
import type { StructureStatements } from '../../engine/statements-structure.ts'
import { at } from './columns.ts'

/** The next seq whose run is compared, between `lo` in the run and `hi` after it: the next one, the last one,
 *  and then in steps that double. */
const probe = `
  CASE w.k WHEN 0 THEN w.lo + 1 WHEN 1 THEN w.hi - 1
    ELSE w.lo + least(1 << least(w.k - 1, 30), (w.hi - w.lo) / 2) END`

/** The first message in an order that satisfies the condition. */
const firstOf = (columns: string, condition: string, order: string) => `
  LATERAL (
    SELECT ${columns} FROM skein.messages x
    WHERE x.tenant = @tenant::text AND x.conv = @conv::uuid AND ${condition} ORDER BY ${order} LIMIT 1)`

/** Stretches one after another. Each begins at the first message after the one before (m) and ends at the
 *  next message with a fork (g) if this is in the same run, and otherwise with its run. No index has the
 *  starts of runs in their order, so that end is searched for: runs ascend, and one that begins after m is
 *  known, that of g or the last one of the conversation (e).
 *
 *  A row is a step: `lo` belongs to the stretch that begins at `p`, and `hi` to a later run. If nothing is
 *  between them, the stretch is complete. */
const stretches = `
  WITH RECURSIVE
    e AS MATERIALIZED (
      SELECT x.seq, x.run FROM skein.messages x
      WHERE x.tenant = @tenant::text AND x.conv = @conv::uuid ORDER BY x.seq DESC LIMIT 1),
    w(n, p, run, lo, hi, k) AS (
      SELECT 0, NULL::int, NULL::int, @after::int, @after::int, 0
      UNION ALL
      SELECT s.* FROM w CROSS JOIN LATERAL (
        SELECT w.n + 1, m.seq, m.run,
          CASE WHEN g.run = m.run THEN g.seq WHEN m.run >= e.run THEN e.seq ELSE m.seq END,
          CASE WHEN g.run = m.run OR m.run >= e.run THEN 0 ELSE coalesce(g.run, e.run) END, 0
        FROM e CROSS JOIN ${firstOf('x.seq, x.run', 'x.seq > w.lo', 'x.seq')} m
        LEFT JOIN ${firstOf('x.parent_seq', 'x.run = x.seq AND x.parent_seq >= m.seq', 'x.parent_seq')} f ON true
        LEFT JOIN ${at('x.seq, x.run', 'f.parent_seq')} g ON true
        WHERE w.hi <= w.lo + 1 AND w.n < @limit::bigint
        UNION ALL
        SELECT w.n, w.p, w.run,
          CASE WHEN y.run > w.run THEN w.lo ELSE ${probe} END,
          CASE WHEN y.run > w.run THEN greatest(w.lo + 1, least(y.run, ${probe})) ELSE w.hi END, w.k + 1
        FROM ${firstOf('x.run', `x.seq <= ${probe}`, 'x.seq DESC')} y
        WHERE w.hi > w.lo + 1
      ) s
    )
  SELECT f.seq AS first_seq, f.id AS first_id, f.at AS first_at, f.path_tokens - f.tokens AS before_tokens,
    f.parent_seq, u.id AS parent_id, l.seq AS last_seq, l.id AS last_id, l.at AS last_at, l.path_tokens
  FROM w JOIN ${at('x.seq, x.id, x.at, x.path_tokens, x.tokens, x.parent_seq', 'w.p')} f ON true
  CROSS JOIN ${firstOf('x.seq, x.id, x.at, x.path_tokens', 'x.seq <= w.lo', 'x.seq DESC')} l
  LEFT JOIN ${at('x.id', 'f.parent_seq')} u ON true
  WHERE w.hi <= w.lo + 1 ORDER BY w.p`

/** UNION, so that a run is read once. If damage says that a parent is after its child, the climb ends there
 *  instead of looping. */
const runParents = `
  WITH RECURSIVE r(run, parent_seq, parent_run) AS (
    SELECT f.seq, f.parent_seq, p.run FROM unnest(@runs::int[]) AS v(run)
    JOIN ${at('x.seq, x.parent_seq', 'v.run')} f ON true
    LEFT JOIN ${at('x.run', 'f.parent_seq')} p ON true
    UNION
    SELECT f.seq, f.parent_seq, p.run FROM r
    JOIN ${at('x.seq, x.parent_seq', 'r.parent_run')} f ON r.parent_run < r.run
    LEFT JOIN ${at('x.run', 'f.parent_seq')} p ON true
  )
  SELECT run, parent_seq, parent_run FROM r LIMIT @limit::bigint`

export const structureQueries = {
  stretches,
  runParents,
  runStarts: `
    SELECT seq, parent_seq FROM skein.messages
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND run = seq
      AND (parent_seq, seq) > (@parent_seq::int, @seq::int) AND seq >= @from::int
    ORDER BY parent_seq, seq LIMIT @limit::bigint`,
} satisfies Pick<Queries, keyof StructureStatements>
