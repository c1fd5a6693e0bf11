import { type ListFilter, mostNarrow, type NarrowFilter, splitNarrow } from '../../engine/list-params.ts'
import type { Queries } from '../../engine/statements.ts'
import { listedBranchColumns, shownColumns } from './conversations.ts'

/** A condition on each conversation `c`. */
const filterSql: Record<ListFilter, string> = {
  channel: `c.channel = @channel`,
  no_channel: `c.channel IS NULL`,
  directory: `c.directory = @directory`,
  directories: `c.directory IN (SELECT value FROM json_each(@directories))`,
  no_directory: `c.directory IS NULL`,
  project: `c.project = @project`,
  no_project: `c.project IS NULL`,
  task: `c.task = @task`,
  no_task: `c.task IS NULL`,
  kind: `c.kind = @kind`,
  key_prefix: `EXISTS (
    SELECT 1 FROM skein_branches k WHERE k.conv = c.c AND k.key >= @key_from AND k.key < @key_to)`,
  label_prefix: `+c.label >= @label_from AND +c.label < @label_to`,
  tag: `EXISTS (SELECT 1 FROM skein_tags t WHERE t.conv = c.c AND t.tag = @tag)`,
  title: `instr(c.title_folded, @title) > 0`,
  metadata: `NOT EXISTS (
    SELECT 1 FROM json_each(@metadata) w WHERE NOT EXISTS (
      SELECT 1 FROM skein_metadata d
      WHERE d.conv = c.c AND d.key = w.value ->> 'key' AND d.value = w.value ->> 'value'))`,
  parent: `c.parent_id = @parent`,
  updated_from: `c.updated_at >= @updated_from`,
  updated_before: `c.updated_at < @updated_before`,
  expired_by: `c.expires_at <= @expired_by`,
  after: `(c.updated_at, c.id) < (@after_time, @after_id)`,
  trashed: `c.trashed_at IS NOT NULL AND c.purging = 0`,
  living: `c.trashed_at IS NULL`,
  within: `c.directory < @below_to AND (c.directory = @within OR c.directory >= @below_from)`,
  ids: `c.c IN (SELECT x.c FROM json_each(@ids) w CROSS JOIN skein_conversations x ON x.id = w.value)`,
  named: `c.c = coalesce(
    (SELECT n.conv FROM skein_branches n WHERE n.key = @named_key),
    (SELECT max(x.c) FROM (
      SELECT p.c FROM skein_conversations p WHERE p.id BETWEEN @named_first AND @named_last LIMIT 2) x
    HAVING count(*) = 1))`,
}

/** The conversations of a narrow filter, by its index. Of metadata, those with the rarest pair. */
const narrowSql: Record<NarrowFilter, string> = {
  key_prefix: `SELECT conv FROM skein_branches WHERE key >= @key_from AND key < @key_to`,
  metadata: `
    SELECT d.conv FROM (
      SELECT w.value ->> 'key' AS key, w.value ->> 'value' AS value FROM json_each(@metadata) w
      ORDER BY (
        SELECT count(*) FROM (
          SELECT 1 FROM skein_metadata x INDEXED BY skein_metadata_value
          WHERE x.key = w.value ->> 'key' AND x.value = w.value ->> 'value' LIMIT ${mostNarrow + 1}))
      LIMIT 1) r
    CROSS JOIN skein_metadata d INDEXED BY skein_metadata_value ON d.key = r.key AND d.value = r.value`,
  label_prefix: `SELECT c AS conv FROM skein_conversations WHERE label >= @label_from AND label < @label_to`,
  tag: `SELECT conv FROM skein_tags WHERE tag = @tag`,
}

function where(filters: readonly ListFilter[]): string {
  return filters.length === 0 ? 'true' : filters.map(filter => filterSql[filter]).join(' AND ')
}

/** Reads all matches of a narrow filter first, if there is one. */
export function whereAll(filters: readonly ListFilter[]): string {
  const { narrow, others } = splitNarrow(filters)
  return narrow ? `c.c IN (${narrowSql[narrow]}) AND ${where(others)}` : where(filters)
}

const newestFirst = `ORDER BY c.updated_at DESC, c.id DESC LIMIT +@limit`

/** A page by its order. One of the two halves has a limit of 0 and reads nothing: if a narrow filter has few
 *  matches, the second, which reads the other conversations too. Otherwise the first, which would sort all
 *  matches. The limit decides, because SQLite evaluates a condition with a subquery for each row. */
function narrowPage(narrow: NarrowFilter, filters: readonly ListFilter[]): string {
  const ifFew = (few: string, many: string) =>
    `ORDER BY c.updated_at DESC, c.id DESC
        LIMIT CASE WHEN (SELECT count(*) FROM few) <= ${mostNarrow} THEN ${few} ELSE ${many} END`
  return `
    WITH few(conv) AS MATERIALIZED (SELECT * FROM (${narrowSql[narrow]}) LIMIT ${mostNarrow + 1}),
    page(conv) AS (
      SELECT * FROM (
        SELECT c.c FROM (SELECT DISTINCT conv FROM few) f CROSS JOIN skein_conversations c ON c.c = f.conv
        WHERE ${where(splitNarrow(filters).others)}
        ${ifFew('@limit', '0')})
      UNION ALL
      SELECT * FROM (
        SELECT c.c FROM skein_conversations c
        WHERE ${where(filters)}
        ${ifFew('0', '@limit')})
    )
    SELECT ${shownColumns}, ${listedBranchColumns}
    FROM page p CROSS JOIN skein_conversations c ON c.c = p.conv
    LEFT JOIN skein_branches b ON b.conv = c.c AND b.name = c.active_branch
    ${newestFirst}`
}

/** Lists of conversations. */
export const listQueries = {
  listConversations: filters => {
    const { narrow } = splitNarrow(filters)
    if (narrow) return narrowPage(narrow, filters)
    return `
    SELECT ${shownColumns}, ${listedBranchColumns}
    FROM skein_conversations c LEFT JOIN skein_branches b ON b.conv = c.c AND b.name = c.active_branch
    WHERE ${where(filters)}
    ${newestFirst}`
  },
  countConversations: filters => `
    SELECT count(*) AS count FROM skein_conversations c WHERE ${whereAll(filters)}`,
  scopeConversations: filters => `
    SELECT c.c AS conv FROM skein_conversations c WHERE ${whereAll(filters)}`,
  // Jumps from one directory to the next in the index, instead of reading every conversation.
  listDirectories: filters => `
    WITH RECURSIVE d(directory) AS (
      SELECT * FROM (
        SELECT c.directory FROM skein_conversations c
        WHERE c.directory >= @from_directory AND c.directory IS NOT @after_directory AND ${where(filters)}
        ORDER BY c.directory LIMIT 1)
      UNION ALL
      SELECT (
        SELECT c.directory FROM skein_conversations c
        WHERE c.directory > d.directory AND ${where(filters)} ORDER BY c.directory LIMIT 1)
      FROM d WHERE d.directory IS NOT NULL
    )
    SELECT directory FROM d WHERE directory IS NOT NULL LIMIT +@limit`,
} satisfies Partial<Queries>
