import { indexForms } from '../../engine/engine.ts'
import { mostNarrow } from '../../engine/list-params.ts'
import type { Queries } from '../../engine/statements.ts'
import { at, hiddenTenant, looseColumns, notTrashed } from './columns.ts'
import { whereAll } from './lists.ts'

/** Most entries of the index that are read one by one: about 4 ms. */
const mostEntriesRead = 5_000

/** Most conversations that are looked up one by one, about 1 ms. */
const mostSteps = 100

const waitingAfter = (condition: string) => `
  SELECT c.id FROM skein.conversations c
  WHERE c.tenant = @tenant::text AND c.indexed_seq < c.next_seq ${condition} ORDER BY c.id LIMIT 1`

const unindexedWhere = (condition: string) => `
  SELECT c.id, c.indexed_seq, c.next_seq, c.updated_at, c.directory, c.kind FROM skein.conversations c
  WHERE c.tenant = @tenant::text AND c.indexed_seq < c.next_seq AND ${notTrashed} AND ${condition} OFFSET 0`

/** The conversations with messages that are not in the index. As a rule there are few, in an index of their
 *  own; but after an import the server expects many, and would read all conversations at each search. So it
 *  is asked for one after the other, and for all at once only if there are more. */
const unindexedConversations = `
  WITH RECURSIVE waiting(id) AS (
    (${waitingAfter('')})
    UNION ALL
    SELECT (${waitingAfter('AND c.id > w.id')}) FROM waiting w WHERE w.id IS NOT NULL
  ), few AS MATERIALIZED (
    SELECT id FROM waiting WHERE id IS NOT NULL LIMIT ${mostSteps}
  ), many AS MATERIALIZED (
    SELECT count(*) = ${mostSteps} AS is_true FROM few
  ), unindexed AS (
    SELECT c.* FROM many CROSS JOIN few
    JOIN LATERAL (${unindexedWhere('c.id = few.id')}) c ON true
    WHERE NOT many.is_true
    UNION ALL
    SELECT c.* FROM many JOIN LATERAL (${unindexedWhere('many.is_true')}) c ON true
  )`

/** The entries of messages that still have a text, with the marks of their conversations. */
const putEntries = (entries: string) => `
    WITH e AS MATERIALIZED (${entries}
    ), p AS MATERIALIZED (
      SELECT c.tenant, c.id, c.kind, skein.mark('b', c.tenant) AS tenant_mark,
        CASE WHEN c.directory IS NOT NULL THEN skein.mark('d', c.directory) END AS directory_mark
      FROM (SELECT DISTINCT conv FROM e) w
      JOIN LATERAL (
        SELECT * FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = w.conv OFFSET 0) c ON true
    )
    INSERT INTO skein.search (tenant, conv, seq, at, form, tsv, pairs)
    SELECT p.tenant, p.id, e.seq, e.at, ${indexForms.pairNumbers},
      e.tsv || array_to_tsvector(skein.marks(p.tenant_mark, e.at, p.directory_mark, p.kind)), e.pairs
    FROM e
    JOIN p ON p.id = e.conv
    JOIN ${at('x.body', 'e.seq', 'e.conv')} m ON m.body IS NOT NULL
    ON CONFLICT (tenant, conv, seq) DO UPDATE SET at = excluded.at, tsv = excluded.tsv, pairs = excluded.pairs`

/** Several entries at once. The pairs of all of them are one list, because a list of lists must have lists of
 *  the same length. */
export const putEntriesSql = putEntries(`
    SELECT u.conv, u.seq, u.at, u.tsv, (@pairs::smallint[])[u.lo : u.hi] AS pairs
    FROM unnest(
      @convs::uuid[], @seqs::int[], @times::bigint[], @entries::tsvector[], @first_pairs::int[], @last_pairs::int[]
    ) AS u(conv, seq, at, tsv, lo, hi)`)

/** How many of the newest entries decide whether a prefix is common, and how many of them may have it. */
const sampled = { entries: 64, most: 3 }

interface CandidateScope {
  /** The ids of conversations. */
  readonly named: string
  /** Whether no other filter is given, so that the entries of these conversations may be read. */
  readonly mayBeFew: string
  /** Whether to ask the index otherwise. */
  readonly isAsked: string
  readonly match: string
}

/** The newest entries that match. skein.find reads the index in stretches of time, newest first, and so the
 *  entries of other conversations between those of a few. The entries of a few small conversations are read
 *  one by one. The rows are not sorted, so that the client receives them while others are still read. */
function candidatesOf({ named, mayBeFew, isAsked, match }: CandidateScope): string {
  return `
    WITH named AS MATERIALIZED (${named}
    ), few AS MATERIALIZED (
      SELECT coalesce(sum(c.next_seq) <= ${mostEntriesRead} AND ${mayBeFew}, false) AS is_true
      FROM named n
      JOIN LATERAL (
        SELECT x.next_seq FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = n.id
        OFFSET 0) c ON true
    ), f AS (
      (SELECT e.conv, e.seq
       FROM few
       CROSS JOIN named n
       JOIN LATERAL (
         SELECT FROM skein.conversations c
         WHERE c.tenant = @tenant::text AND c.id = n.id AND ${notTrashed} OFFSET 0) c ON true
       JOIN LATERAL (
         SELECT s.conv, s.seq, s.at, s.tsv, s.pairs FROM skein.search s
         WHERE s.conv = n.id AND s.${hiddenTenant} AND s.at + 0 BETWEEN @from::bigint AND @upto::bigint
         OFFSET 0) e
         ON e.tsv @@ @match::tsquery AND (@pairs::smallint[] IS NULL OR e.pairs @> @pairs::smallint[])
       WHERE few.is_true
       ORDER BY e.at DESC LIMIT @limit::int)
      UNION ALL
      SELECT found.conv, found.seq
      FROM few
      CROSS JOIN LATERAL skein.find(
        @tenant::text,
        CASE WHEN @directories::text[] IS NULL THEN ${match}
          -- Of no directory: a mark that no entry has.
          ELSE ${match} && coalesce((
            SELECT string_agg('''' || skein.mark('d', d) || '''', '|')
            FROM unnest(@directories::text[]) d), '''=d''')::tsquery END,
        @pairs::smallint[], @from::bigint, @upto::bigint, NULL, @kind::text, @limit::int) found
      WHERE NOT few.is_true AND ${isAsked}
        AND (@rare::tsquery IS NULL OR ${sampled.most} >= (
          SELECT count(*) FROM (
            SELECT s.tsv FROM skein.search s WHERE s.tenant = @tenant::text AND s.at <= @upto::bigint
            ORDER BY s.at DESC LIMIT ${sampled.entries}) s
          WHERE s.tsv @@ @rare::tsquery))
    )
    SELECT f.conv, m.seq, m.at, m.body
    FROM f
    JOIN ${at('x.seq, x.at, x.body', 'f.seq', 'f.conv')} m ON true
    WHERE @directories::text[] IS NULL OR EXISTS (
      SELECT FROM skein.conversations c
      WHERE c.tenant = @tenant::text AND c.id = f.conv AND c.directory = ANY(@directories::text[]))`
}

/** Writes and reads the search index. */
export const searchQueries = {
  unindexed: `
    SELECT id AS conv, indexed_seq, next_seq FROM skein.conversations
    WHERE tenant = @tenant::text AND indexed_seq < next_seq AND (@after::uuid IS NULL OR id > @after::uuid)
    ORDER BY id LIMIT @limit::bigint`,
  unindexedNewest: `
    ${unindexedConversations}
    SELECT id AS conv, indexed_seq, next_seq, updated_at, directory, kind FROM unindexed
    ORDER BY updated_at DESC, id LIMIT @limit::bigint`,
  unindexedMessages: `
    ${unindexedConversations}
    SELECT m.conv, m.conv AS conversation_id, m.seq, m.at, m.role, m.body
    FROM unindexed c
    JOIN LATERAL (
      SELECT x.conv, x.seq, x.at, x.role, x.body FROM skein.messages x
      WHERE x.tenant = @tenant::text AND x.conv = c.id AND x.seq >= c.indexed_seq OFFSET 0) m ON true
    LIMIT @limit::bigint`,
  messagesIn: `
    SELECT m.conv, m.conv AS conversation_id, m.seq, m.at, m.role, m.body
    FROM json_to_recordset(@spans::json) AS w(conv uuid, lo int, hi int)
    JOIN LATERAL (
      SELECT x.conv, x.seq, x.at, x.role, x.body FROM skein.messages x
      WHERE x.tenant = @tenant::text AND x.conv = w.conv AND x.seq BETWEEN w.lo AND w.hi OFFSET 0) m ON true`,
  // An application may keep a conversation locked. The others do not wait for it.
  markIndexed: `
    WITH free AS MATERIALIZED (
      SELECT x.id, w.seq_to
      FROM json_to_recordset(@marks::json) AS w(conv uuid, seq_from int, seq_to int)
      JOIN skein.conversations x
        ON x.tenant = @tenant::text AND x.id = w.conv AND x.indexed_seq = w.seq_from
      FOR NO KEY UPDATE OF x SKIP LOCKED
    )
    UPDATE skein.conversations c SET indexed_seq = free.seq_to
    FROM free
    WHERE c.tenant = @tenant::text AND c.id = free.id
    RETURNING c.id AS conv`,
  putSearchEntry: putEntries(`
    SELECT @conv::uuid AS conv, @seq::int AS seq, @at::bigint AS at,
      array_to_tsvector(string_to_array(@tokens::text, ' ')) AS tsv, @pairs::smallint[] AS pairs`),
  deleteSearchEntries: `
    DELETE FROM skein.search
    WHERE ${hiddenTenant} AND conv = @conv::uuid AND seq BETWEEN @lo::int AND @hi::int`,
  tidyIndex: `SELECT skein.tidy_search()`,
  indexParts: `SELECT 1 AS parts`,
  indexForm: `SELECT ${indexForms.pairNumbers} AS form`,
  clearSearch: `DELETE FROM skein.search WHERE tenant = @tenant::text`,
  resetIndexed: `
    UPDATE skein.conversations SET indexed_seq = 0 WHERE tenant = @tenant::text AND indexed_seq > 0`,
  candidates: candidatesOf({
    named: `SELECT u::uuid AS id FROM unnest(@convs::text[]) u`,
    mayBeFew: 'true',
    isAsked: 'true',
    match: '@match::tsquery',
  }),
  scopedCandidates: filters =>
    candidatesOf({
      named: `SELECT c.id FROM skein.conversations c WHERE ${whereAll(filters)} LIMIT ${mostNarrow + 1}`,
      mayBeFew: '@directories::text[] IS NULL AND @kind::text IS NULL',
      isAsked: `(SELECT count(*) FROM named) BETWEEN 1 AND ${mostNarrow}`,
      match: `@match::tsquery && (
        SELECT string_agg('''=c' || n.id || '''', '|')::tsquery FROM named n)`,
    }),
  // Two statements in one: a condition on pairs that may be null could not use the index.
  searchFloor: `
    (SELECT at FROM skein.search
     WHERE tenant = @tenant::text AND tsv @@ @match::tsquery AND at BETWEEN @from::bigint AND @upto::bigint
       AND @pairs::smallint[] IS NULL
     ORDER BY at DESC LIMIT 1 OFFSET @span::bigint)
    UNION ALL
    (SELECT at FROM skein.search
     WHERE tenant = @tenant::text AND tsv @@ @match::tsquery AND at BETWEEN @from::bigint AND @upto::bigint
       AND pairs @> @pairs::smallint[]
     ORDER BY at DESC LIMIT 1 OFFSET @span::bigint)`,
  foundMessages: `
    SELECT ${looseColumns}, m.conv, c.title, c.kind, c.directory, c.channel
    FROM json_to_recordset(@places::json) AS w(conv uuid, seq int)
    JOIN ${at('*', 'w.seq', 'w.conv')} m ON true
    JOIN LATERAL (
      SELECT * FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = w.conv OFFSET 0) c ON true`,
  branchesHolding: `
    SELECT c.id AS conv, w.seq, b.name, (b.name = c.active_branch)::int AS active
    FROM json_to_recordset(@places::json) AS w(conv uuid, seq int)
    JOIN LATERAL (
      SELECT * FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = w.conv OFFSET 0) c ON true
    JOIN LATERAL (
      SELECT * FROM skein.branches x
      WHERE x.tenant = @tenant::text AND x.conv = w.conv AND x.head_seq >= w.seq OFFSET 0) b ON true
    WHERE EXISTS (
      WITH RECURSIVE r(lo, hi) AS (
        SELECT b.head_run, b.head_seq
        UNION ALL
        SELECT p.run, p.seq FROM r
        JOIN ${at('x.parent_seq', 'r.lo', 'w.conv')} f ON r.lo > w.seq
        JOIN ${at('x.run, x.seq', 'f.parent_seq', 'w.conv')} p ON p.seq < r.hi
      )
      SELECT FROM r WHERE w.seq BETWEEN r.lo AND r.hi)
    ORDER BY c.id, w.seq, active DESC, b.name`,
} satisfies Partial<Queries>
