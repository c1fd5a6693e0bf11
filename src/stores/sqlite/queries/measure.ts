import type { Queries } from '../../engine/query.ts'

export const measureQueries = {
  counted: `
    SELECT count(*) FILTER (WHERE c.trashed_at IS NULL) AS conversations,
      coalesce(sum(c.messages) FILTER (WHERE c.trashed_at IS NULL), 0) AS messages,
      count(*) FILTER (WHERE c.trashed_at IS NULL AND c.updated_at >= @since) AS recent_conversations,
      coalesce(sum(c.messages) FILTER (WHERE c.trashed_at IS NULL AND c.updated_at >= @since), 0) AS recent_messages,
      count(*) FILTER (WHERE c.trashed_at IS NOT NULL) AS trashed
    FROM skein_conversations c`,
  usageSums: `
    SELECT model, quarter, count(*) AS turns, coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output,
      coalesce(sum(cost), 0.0) AS cost,
      coalesce(sum(CASE WHEN cost IS NULL THEN coalesce(input, 0) + coalesce(output, 0) END), 0) AS uncosted
    FROM (
      SELECT t.model, CASE WHEN t.started_at >= @since THEN t.started_at / 900000 END AS quarter,
        t.usage ->> 'input' AS input, t.usage ->> 'output' AS output, t.usage ->> 'cost' AS cost
      FROM skein_turns t)
    GROUP BY model, quarter ORDER BY quarter, model`,
  blobSum: `SELECT count(*) AS count, coalesce(sum(b.size), 0) AS bytes FROM skein_blobs b`,
  sizes: `
    SELECT 'file' AS name, p.page_count * s.page_size AS bytes FROM pragma_page_count p, pragma_page_size s
    UNION ALL SELECT 'search index', coalesce(sum(length(d.block)), 0) FROM skein_search_data d`,
} satisfies Partial<Queries>
