import { tablesOfConversation } from '../../engine/schema.ts'
import type { Queries } from '../../engine/statements.ts'

function deleteSome(table: string, key: string): string {
  return `
    DELETE FROM skein_${table} WHERE conv = @conv AND ${key} IN (
      SELECT ${key} FROM skein_${table} WHERE conv = @conv ORDER BY ${key} LIMIT +@limit)`
}

/** Deleting, sweeping and measuring. */
export const housekeepingQueries = {
  spanFacts: `
    SELECT count(*) AS count, coalesce(sum(tokens), 0) AS tokens FROM skein_messages
    WHERE conv = @conv AND seq BETWEEN @lo AND @hi`,
  buryMessages: `
    INSERT INTO skein_tombstones (conv, seq, parent_seq, id, at, reason)
    SELECT conv, seq, parent_seq, id, @now, @reason FROM skein_messages
    WHERE conv = @conv AND seq BETWEEN @lo AND @hi`,
  deleteMessages: `DELETE FROM skein_messages WHERE conv = @conv AND seq BETWEEN @lo AND @hi`,
  shrink: `
    UPDATE skein_conversations SET messages = messages - @removed, tokens = tokens - @tokens,
      version = version + 1
    WHERE c = @conv`,
  eraseMessage: `
    UPDATE skein_messages SET body = NULL, erased = @erased WHERE conv = @conv AND seq = @seq`,
  clearTitle: `
    UPDATE skein_conversations SET title = NULL, title_folded = NULL WHERE c = @conv AND title = @title`,
  setTrashed: `
    UPDATE skein_conversations SET trashed_at = @now, trash_sweeps = 0, version = version + 1 WHERE c = @conv`,
  setRestored: `
    UPDATE skein_conversations SET trashed_at = NULL, trash_sweeps = 0,
      expires_at = CASE WHEN expires_at <= @now THEN @now + coalesce(ttl_ms, renew_ms) ELSE expires_at END,
      version = version + 1
    WHERE c = @conv`,
  beginPurge: `UPDATE skein_conversations SET purging = 1 WHERE c = @conv`,
  deleteSomeTurns: deleteSome('turns', 'key'),
  deleteSomeTombstones: deleteSome('tombstones', 'seq'),
  deleteSomeEvents: deleteSome('events', 'n'),
  // Each table explicitly: foreign keys may be off on a borrowed handle.
  deleteConversation: [
    ...tablesOfConversation.map(table => `DELETE FROM skein_${table} WHERE conv = @conv`),
    `DELETE FROM skein_conversations WHERE c = @conv`,
  ],

  loosePrompts: `
    SELECT p.hash FROM skein_prompts p
    WHERE NOT EXISTS (SELECT 1 FROM skein_conversations c WHERE c.prompt_hash = p.hash)`,
  deleteLoosePrompts: `DELETE FROM skein_prompts WHERE hash IN (SELECT value FROM json_each(@hashes))`,

  state: `SELECT value FROM skein_state WHERE name = @name`,
  putState: `
    INSERT INTO skein_state (name, value) VALUES (@name, @value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  replaceState: `
    INSERT INTO skein_state (name, value) VALUES (@name, @value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE skein_state.value IS @expected`,
  expiredTasks: `
    SELECT id, expires_at AS at, CAST(c AS TEXT) AS position FROM skein_conversations
    WHERE task IS NOT NULL AND expires_at IS NOT NULL AND trashed_at IS NULL AND expires_at <= @now
      AND (expires_at, c) > (@at, CAST(@position AS INTEGER))
      AND NOT EXISTS (
        SELECT 1 FROM skein_turns t INDEXED BY skein_turns_open
        WHERE t.conv = skein_conversations.c AND t.status = 'open' AND t.lease_until > @now)
    ORDER BY expires_at, c LIMIT +@limit`,
  countSweep: `
    UPDATE skein_conversations SET trash_sweeps = trash_sweeps + 1
    WHERE trashed_at IS NOT NULL AND trashed_at <= @now`,
  purgeable: `
    SELECT id, trashed_at AS at, CAST(c AS TEXT) AS position FROM skein_conversations
    WHERE trashed_at IS NOT NULL AND (trashed_at, c) > (@at, CAST(@position AS INTEGER))
      AND (purging = 1 OR trashed_at <= @before AND trash_sweeps >= @sweeps)
    ORDER BY trashed_at, c LIMIT +@limit`,

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
      FROM skein_turns t
      WHERE (t.conv, t.key) > (coalesce(@conv, -1), coalesce(@key, ''))
        AND (t.conv, t.key) <= (coalesce(@last_conv, 9223372036854775807), coalesce(@last_key, '')))
    GROUP BY model, quarter ORDER BY quarter, model`,
  contentBytes: `
    SELECT (
        SELECT coalesce(sum(octet_length(m.body)), 0) FROM skein_messages m
        WHERE m.conv = @conv AND m.seq BETWEEN @lo AND @hi)
      + (
        SELECT coalesce(sum(b.size), 0) FROM skein_blob_refs r CROSS JOIN skein_blobs b ON b.hash = r.hash
        WHERE r.conv = @conv AND r.seq BETWEEN @lo AND @hi) AS bytes`,
  blobSum: `SELECT count(*) AS count, coalesce(sum(b.size), 0) AS bytes FROM skein_blobs b`,
  sizes: `
    SELECT 'file' AS name, p.page_count * s.page_size AS bytes FROM pragma_page_count p, pragma_page_size s`,
  turnAfter: `
    SELECT conv, key FROM skein_turns WHERE (conv, key) > (coalesce(@conv, -1), coalesce(@key, ''))
    ORDER BY conv, key LIMIT 1 OFFSET +@skip`,
  indexBytes: `
    SELECT coalesce(sum(length(d.block)), 0) AS bytes, max(d.id) AS last FROM (
      SELECT id, block FROM skein_search_data WHERE id > coalesce(@after, -1) ORDER BY id LIMIT +@limit) d`,
} satisfies Partial<Queries>
