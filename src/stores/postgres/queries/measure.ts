import type { Queries } from '../../engine/query.ts'

const relation = (name: string, tables: readonly string[]) => `
  SELECT '${name}' AS name, (${tables
    .map(table => `pg_total_relation_size('skein.${table}'::regclass)`)
    .join(' + ')})::bigint AS bytes`

export const measureQueries = {
  counted: `
    SELECT count(*) FILTER (WHERE c.trashed_at IS NULL) AS conversations,
      coalesce(sum(c.messages) FILTER (WHERE c.trashed_at IS NULL), 0)::bigint AS messages,
      count(*) FILTER (WHERE c.trashed_at IS NULL AND c.updated_at >= @since::bigint) AS recent_conversations,
      coalesce(sum(c.messages) FILTER (WHERE c.trashed_at IS NULL AND c.updated_at >= @since::bigint), 0)::bigint
        AS recent_messages,
      count(*) FILTER (WHERE c.trashed_at IS NOT NULL) AS trashed
    FROM skein.conversations c WHERE c.tenant = @tenant::text`,
  usageSums: `
    SELECT model, quarter, count(*) AS turns, coalesce(sum(input), 0)::float8 AS input,
      coalesce(sum(output), 0)::float8 AS output, coalesce(sum(cost), 0)::float8 AS cost,
      coalesce(sum(CASE WHEN cost IS NULL THEN coalesce(input, 0) + coalesce(output, 0) END), 0)::float8 AS uncosted
    FROM (
      SELECT t.model, CASE WHEN t.started_at >= @since::bigint THEN t.started_at / 900000 END AS quarter,
        (t.usage::json ->> 'input')::float8 AS input, (t.usage::json ->> 'output')::float8 AS output,
        (t.usage::json ->> 'cost')::float8 AS cost
      FROM skein.turns t WHERE t.tenant = @tenant::text) u
    GROUP BY model, quarter ORDER BY quarter NULLS FIRST, model NULLS FIRST`,
  blobSum: `
    SELECT count(*) AS count, coalesce(sum(b.size), 0)::bigint AS bytes FROM skein.blobs b
    WHERE b.tenant = @tenant::text`,
  // Of all tenants: the server does not know how much of a table is whose.
  sizes: [
    relation('messages', ['messages']),
    relation('blobs', ['blobs', 'blob_refs']),
    relation('search index', ['search']),
    relation('the rest', [
      ...['conversations', 'prompts', 'tags', 'metadata', 'branches', 'agent_links', 'tombstones', 'turns'],
      ...['drafts', 'summaries', 'events', 'state'],
    ]),
  ].join(' UNION ALL '),
} satisfies Partial<Queries>
