import { type ListFilter, mostNarrow, type NarrowFilter, splitNarrow } from '../../engine/list-params.ts'
import type { Queries } from '../../engine/statements.ts'
import { listedBranchColumns, pair, shownColumns } from './conversations.ts'

/** Evaluated for each conversation, by a primary key. Without OFFSET 0, the planner may use a join, and for a
 *  table that it still considers empty it would read all of it for each conversation. */
const exists = (rows: string) => `EXISTS (${rows} OFFSET 0)`

/** A condition on each conversation `c`. */
const filterSql: Record<ListFilter, string> = {
  channel: `c.channel = @channel::text`,
  no_channel: `c.channel IS NULL`,
  // The index contains the first 500 characters.
  directory: `c.directory = @directory::text AND left(c.directory, 500) = left(@directory::text, 500)`,
  directories: `c.directory = ANY(@directories::text[]) AND left(c.directory, 500) = ANY(
    SELECT left(d, 500) FROM unnest(@directories::text[]) d)`,
  no_directory: `c.directory IS NULL`,
  project: `c.project = @project::text`,
  no_project: `c.project IS NULL`,
  task: `c.task = @task::text`,
  no_task: `c.task IS NULL`,
  kind: `c.kind = @kind::text`,
  key_prefix: exists(`
    SELECT FROM skein.branches k
    WHERE k.tenant = @tenant::text AND k.conv = c.id AND k.key >= @key_from::text AND k.key < @key_to::text`),
  label_prefix: `c.label >= @label_from::text AND c.label < @label_to::text`,
  tag: exists(`
    SELECT FROM skein.tags t WHERE t.tenant = @tenant::text AND t.conv = c.id AND t.tag = @tag::text`),
  title: `strpos(c.title_folded, @title::text) > 0`,
  metadata: `NOT ${exists(`
    SELECT FROM json_to_recordset(@metadata::json) AS w(key text, value text)
    WHERE NOT ${exists(`
      SELECT FROM skein.metadata d
      WHERE d.tenant = @tenant::text AND d.conv = c.id AND d.pair = ${pair('w.key', 'w.value')}`)}`)}`,
  parent: `c.parent_id = @parent::uuid`,
  updated_from: `c.updated_at >= @updated_from::bigint`,
  updated_before: `c.updated_at < @updated_before::bigint`,
  expired_by: `c.expires_at <= @expired_by::bigint`,
  after: `(c.updated_at, c.id) < (@after_time::bigint, @after_id::uuid)`,
  trashed: `c.trashed_at IS NOT NULL AND c.purging = 0`,
  living: `c.trashed_at IS NULL`,
  within: `c.directory < @below_to::text
    AND (c.directory = @within::text OR c.directory >= @below_from::text)
    AND left(c.directory, 500) >= left(@within::text, 500)
    AND left(c.directory, 500) <= left(@below_to::text, 500)`,
  ids: `c.id = ANY(@ids::uuid[])`,
  named: `c.id = coalesce((
    SELECT n.conv FROM skein.branches n WHERE n.tenant = @tenant::text AND n.key = @named_key::text), (
    SELECT (array_agg(x.id))[1] FROM (
      SELECT p.id FROM skein.conversations p
      WHERE p.tenant = @tenant::text AND p.id BETWEEN @named_first::uuid AND @named_last::uuid LIMIT 2) x
    HAVING count(*) = 1))`,
}

/** Hides a value from the planner. It would expect less of some values than of most, and make a new plan for
 *  each call, which takes longer than the list. */
const hidden = (value: string) => `(SELECT ${value})`

/** The conversations of a narrow filter, by its index. Of metadata, those with the rarest pair. */
const narrowSql: Record<NarrowFilter, string> = {
  key_prefix: `
    SELECT k.conv FROM skein.branches k
    WHERE k.tenant = @tenant::text AND k.key >= ${hidden('@key_from::text')} AND k.key < ${hidden('@key_to::text')}`,
  metadata: `
    SELECT d.conv FROM (
      SELECT ${pair('w.key', 'w.value')} AS pair
      FROM json_to_recordset(@metadata::json) AS w(key text, value text)
      ORDER BY (
        SELECT count(*) FROM (
          SELECT FROM skein.metadata x
          WHERE x.tenant = @tenant::text AND x.pair = ${pair('w.key', 'w.value')} LIMIT ${mostNarrow + 1}) n)
      LIMIT 1) r
    CROSS JOIN LATERAL (
      SELECT x.conv FROM skein.metadata x WHERE x.tenant = @tenant::text AND x.pair = r.pair OFFSET 0) d`,
  label_prefix: `
    SELECT l.id AS conv FROM skein.conversations l
    WHERE l.tenant = @tenant::text AND l.label >= ${hidden('@label_from::text')} AND l.label < ${hidden('@label_to::text')}`,
  tag: `SELECT t.conv FROM skein.tags t WHERE t.tenant = @tenant::text AND t.tag = ${hidden('@tag::text')}`,
}

function where(filters: readonly ListFilter[]): string {
  return ['c.tenant = @tenant::text', ...filters.map(filter => filterSql[filter])].join(' AND ')
}

/** Reads all matches of a narrow filter first, if there is one. An array of ids always uses the primary
 *  key. */
export function whereAll(filters: readonly ListFilter[]): string {
  const { narrow, others } = splitNarrow(filters)
  return narrow ? `c.id = ANY (ARRAY(${narrowSql[narrow]})) AND ${where(others)}` : where(filters)
}

const newestFirst = `ORDER BY c.updated_at DESC, c.id DESC LIMIT @limit::bigint`

const activeBranch = `
    LEFT JOIN LATERAL (
      SELECT * FROM skein.branches x
      WHERE x.tenant = @tenant::text AND x.conv = c.id AND x.name = c.active_branch OFFSET 0) b ON true`

/** A page by its order. One of the two halves is empty: if a narrow filter has few matches, the second, which
 *  reads the other conversations too. Otherwise the first, which would sort all matches. */
function narrowPage(narrow: NarrowFilter, filters: readonly ListFilter[]): string {
  const page = newestFirst.replace('@limit::bigint', hidden('@limit::bigint'))
  return `
    WITH few AS MATERIALIZED (SELECT n.conv FROM (${narrowSql[narrow]}) n LIMIT ${mostNarrow + 1}),
    page AS (
      (SELECT c.id FROM (SELECT DISTINCT conv FROM few) f CROSS JOIN LATERAL (
          SELECT * FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = f.conv OFFSET 0) c
        WHERE (SELECT count(*) FROM few) <= ${mostNarrow} AND ${where(splitNarrow(filters).others)}
        ${page})
      UNION ALL
      (SELECT c.id FROM skein.conversations c
        WHERE (SELECT count(*) FROM few) > ${mostNarrow} AND ${where(filters)}
        ${page})
    )
    SELECT ${shownColumns}, ${listedBranchColumns}
    FROM page p CROSS JOIN LATERAL (
      SELECT * FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = p.id OFFSET 0) c
    ${activeBranch}
    ${page}`
}

/** Lists of conversations. */
export const listQueries = {
  listConversations: filters => {
    const { narrow } = splitNarrow(filters)
    if (narrow) return narrowPage(narrow, filters)
    return `
    SELECT ${shownColumns}, ${listedBranchColumns}
    FROM skein.conversations c ${activeBranch}
    WHERE ${where(filters)}
    ${newestFirst}`
  },
  countConversations: filters => `
    SELECT count(*) AS count FROM skein.conversations c WHERE ${whereAll(filters)}`,
  scopeConversations: filters => `
    SELECT c.id AS conv FROM skein.conversations c WHERE ${whereAll(filters)}`,
  listDirectories: filters => `
    SELECT DISTINCT c.directory FROM skein.conversations c
    WHERE c.directory >= @from_directory::text AND c.directory IS DISTINCT FROM @after_directory::text
      AND ${where(filters)}
    ORDER BY c.directory LIMIT @limit::bigint`,
} satisfies Partial<Queries>
