import { tablesOfConversation } from '../../engine/schema.ts'
import type { Queries } from '../../engine/statements.ts'
import { hiddenTenant, leaseNow, span } from './columns.ts'

/** Below and above the ids of conversations. */
const [noConversation, lastConversation] = ['0', 'f'].map(digit =>
  [8, 4, 4, 4, 12].map(length => digit.repeat(length)).join('-'),
)

/** By range: for a list of keys, stale statistics make the planner compare each key with every row. */
function deleteSome(table: string, key: string): string {
  const inConv = `tenant = @tenant::text AND conv = @conv::uuid`
  return `
    DELETE FROM skein.${table} WHERE ${inConv} AND ${key} <= (
      SELECT max(${key}) FROM (
        SELECT ${key} FROM skein.${table} WHERE ${inConv} ORDER BY ${key} LIMIT @limit::bigint) AS piece)`
}

const relation = (name: string, tables: readonly string[]) => `
  SELECT '${name}' AS name, (${tables
    .map(table => `pg_total_relation_size('skein.${table}'::regclass)`)
    .join(' + ')})::bigint AS bytes`

/** Deleting, sweeping and measuring. */
export const housekeepingQueries = {
  spanFacts: `
    SELECT count(*) AS count, coalesce(sum(tokens), 0)::bigint AS tokens FROM skein.messages WHERE ${span}`,
  buryMessages: `
    INSERT INTO skein.tombstones (tenant, conv, seq, parent_seq, id, at, reason)
    SELECT tenant, conv, seq, parent_seq, id, @now::bigint, @reason::text FROM skein.messages WHERE ${span}`,
  deleteMessages: `DELETE FROM skein.messages WHERE ${span}`,
  eraseMessage: `
    UPDATE skein.messages SET body = NULL, erased = @erased::text
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND seq = @seq::int`,
  shrink: `
    UPDATE skein.conversations SET messages = messages - @removed::int, tokens = tokens - @tokens::bigint,
      version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`,
  clearTitle: `
    UPDATE skein.conversations SET title = NULL, title_folded = NULL
    WHERE tenant = @tenant::text AND id = @conv::uuid AND title = @title::text`,
  setTrashed: `
    UPDATE skein.conversations SET trashed_at = @now::bigint, trash_sweeps = 0, version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`,
  setRestored: `
    UPDATE skein.conversations SET trashed_at = NULL, trash_sweeps = 0,
      expires_at = CASE
        WHEN expires_at <= @now::bigint THEN @now::bigint + coalesce(ttl_ms, renew_ms)
        ELSE expires_at END,
      version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`,
  beginPurge: `
    UPDATE skein.conversations SET purging = 1 WHERE tenant = @tenant::text AND id = @conv::uuid`,
  // The rows of the conversation first, the conversation last.
  deleteSomeTurns: deleteSome('turns', 'key'),
  deleteSomeTombstones: deleteSome('tombstones', 'seq'),
  deleteSomeEvents: deleteSome('events', 'n'),
  deleteConversation: tablesOfConversation
    .map(table => `DELETE FROM skein.${table} WHERE tenant = @tenant::text AND conv = @conv::uuid`)
    .concat(
      `DELETE FROM skein.search WHERE ${hiddenTenant} AND conv = @conv::uuid`,
      `DELETE FROM skein.conversations WHERE tenant = @tenant::text AND id = @conv::uuid`,
    ),

  // Locks: the next statement then sees the reference of a writer that was about to make one.
  loosePrompts: `
    SELECT p.hash FROM skein.prompts p WHERE p.tenant = @tenant::text AND NOT EXISTS (
      SELECT FROM skein.conversations c WHERE c.tenant = @tenant::text AND c.prompt_hash = p.hash)
    ORDER BY p.hash FOR UPDATE OF p`,
  deleteLoosePrompts: `
    DELETE FROM skein.prompts p WHERE p.tenant = @tenant::text AND p.hash = any(@hashes::text[])
      AND NOT EXISTS (
        SELECT FROM skein.conversations c WHERE c.tenant = @tenant::text AND c.prompt_hash = p.hash)`,

  replaceState: `
    INSERT INTO skein.state (tenant, name, value) VALUES (@tenant::text, @name::text, @value::bigint)
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value
    WHERE skein.state.value IS NOT DISTINCT FROM @expected::bigint`,
  expiredTasks: `
    SELECT c.id, c.expires_at AS at, c.id AS position FROM skein.conversations c
    WHERE c.tenant = @tenant::text AND c.task IS NOT NULL AND c.expires_at IS NOT NULL
      AND c.trashed_at IS NULL AND c.expires_at <= @now::bigint
      AND (c.expires_at, c.id) > (@at::bigint, @position::uuid)
      AND NOT EXISTS (
        SELECT FROM skein.turns t
        WHERE t.tenant = @tenant::text AND t.conv = c.id AND t.status = 'open' AND t.lease_until > ${leaseNow})
    ORDER BY c.expires_at, c.id LIMIT @limit::bigint`,
  countSweep: `
    UPDATE skein.conversations SET trash_sweeps = trash_sweeps + 1
    WHERE tenant = @tenant::text AND trashed_at IS NOT NULL AND trashed_at <= @now::bigint`,
  purgeable: `
    SELECT id, trashed_at AS at, id AS position FROM skein.conversations
    WHERE tenant = @tenant::text AND trashed_at IS NOT NULL
      AND (trashed_at, id) > (@at::bigint, @position::uuid)
      AND (purging = 1 OR trashed_at <= @before::bigint AND trash_sweeps >= @sweeps::int)
    ORDER BY trashed_at, id LIMIT @limit::bigint`,
  state: `SELECT value FROM skein.state WHERE tenant = @tenant::text AND name = @name::text`,
  putState: `
    INSERT INTO skein.state (tenant, name, value) VALUES (@tenant::text, @name::text, @value::bigint)
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value`,

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
      FROM skein.turns t
      WHERE t.tenant = @tenant::text
        AND (t.conv, t.key) > (coalesce(@conv::uuid, '${noConversation}'), coalesce(@key::text, ''))
        AND (t.conv, t.key) <= (coalesce(@last_conv::uuid, '${lastConversation}'),
          coalesce(@last_key::text, chr(1114111)))) u
    GROUP BY model, quarter ORDER BY quarter NULLS FIRST, model NULLS FIRST`,
  contentBytes: `
    SELECT ((
        SELECT coalesce(sum(octet_length(m.body)), 0) FROM skein.messages m
        WHERE m.tenant = @tenant::text AND m.conv = @conv::uuid AND m.seq BETWEEN @lo::int AND @hi::int)
      + (
        SELECT coalesce(sum(b.size), 0) FROM skein.blob_refs r
        JOIN skein.blobs b ON b.tenant = @tenant::text AND b.hash = r.hash
        WHERE r.tenant = @tenant::text AND r.conv = @conv::uuid
          AND r.seq BETWEEN @lo::int AND @hi::int))::bigint AS bytes`,
  blobSum: `
    SELECT count(*) AS count, coalesce(sum(b.size), 0)::bigint AS bytes FROM skein.blobs b
    WHERE b.tenant = @tenant::text`,
  turnAfter: `
    SELECT conv, key FROM skein.turns
    WHERE tenant = @tenant::text
      AND (conv, key) > (coalesce(@conv::uuid, '${noConversation}'), coalesce(@key::text, ''))
    ORDER BY conv, key LIMIT 1 OFFSET @skip::bigint`,
  indexBytes: `
    SELECT 0::bigint AS bytes, @after::bigint AS last WHERE @limit::bigint < 0`,
  // For all tenants: the server does not know the share of each tenant in a table.
  sizes: [
    relation('messages', ['messages']),
    relation('blobs', ['blobs', 'blob_parts', 'blob_refs']),
    relation('search index', ['search']),
    relation('the rest', [
      ...['conversations', 'prompts', 'tags', 'metadata', 'branches', 'agent_links', 'tombstones', 'turns'],
      ...['drafts', 'summaries', 'events', 'state'],
    ]),
  ].join(' UNION ALL '),
} satisfies Partial<Queries>
