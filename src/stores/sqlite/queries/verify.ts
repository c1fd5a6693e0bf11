import { tablesOfConversation } from '../../engine/schema.ts'
import type { Queries } from '../../engine/statements.ts'

const conversation = `
  SELECT c.c AS conv, c.id, c.active_branch, c.next_seq, c.next_event,
    coalesce(c.unindexed_from, c.next_seq) AS indexed_seq, c.messages, c.tokens, c.version, c.trashed_at, c.purging, c.prompt_hash, c.tags,
    c.prompt_hash IS NULL OR EXISTS (SELECT 1 FROM skein_prompts p WHERE p.hash = c.prompt_hash) AS prompt_known
  FROM skein_conversations c`

/** For `verify`: reads rows from tables, not from their indexes. */
export const verifyQueries = {
  rawConversations: `${conversation} NOT INDEXED WHERE c.c > coalesce(@after, -1) ORDER BY c.c LIMIT +@limit`,
  rawConversation: `${conversation} WHERE c.id = @id`,
  rawConversationAt: `${conversation} NOT INDEXED WHERE c.c = @conv`,
  recentConversations: `
    ${conversation} INDEXED BY skein_conversations_recent
    WHERE c.trashed_at IS NULL ORDER BY c.updated_at DESC, c.id DESC LIMIT +@limit`,
  knownConversations: `
    SELECT c AS conv, id FROM skein_conversations INDEXED BY sqlite_autoindex_skein_conversations_1
    WHERE id > coalesce(@after, '') ORDER BY id LIMIT +@limit`,
  messageTotal: `SELECT count(*) AS conversations, coalesce(sum(messages), 0) AS messages FROM skein_conversations`,
  orphans: tablesOfConversation
    .map(
      // Jumps from conversation to conversation in the index.
      table => `
    SELECT '${table}' AS place, CAST(o.conv AS TEXT) AS conv,
      (SELECT count(*) FROM skein_${table} t WHERE t.conv = o.conv) AS count
    FROM (
      WITH RECURSIVE found (conv) AS (
        SELECT min(conv) FROM skein_${table}
        UNION ALL
        SELECT (SELECT min(t.conv) FROM skein_${table} t WHERE t.conv > found.conv) FROM found
        WHERE found.conv IS NOT NULL)
      SELECT conv FROM found WHERE conv IS NOT NULL) o
    WHERE NOT EXISTS (SELECT 1 FROM skein_conversations c WHERE c.c = o.conv)`,
    )
    .join(' UNION ALL '),

  rawMessages: `
    SELECT i.seq AS found_at, m.conv = @conv AS mine, m.seq, m.id, m.parent_seq, m.run, m.depth, m.role, m.at,
      m.tokens, m.path_tokens, m.turn, m.step, m.label, m.body_hash, m.body, m.erased
    FROM skein_messages i INDEXED BY skein_messages_seq CROSS JOIN skein_messages m NOT INDEXED ON m.n = i.n
    WHERE i.conv = @conv AND i.seq > @above ORDER BY i.seq LIMIT +@limit`,
  rawSeqs: `
    SELECT seq FROM skein_messages INDEXED BY skein_messages_seq
    WHERE conv = @conv AND seq > @above ORDER BY seq LIMIT +@limit`,
  rawPlaces: `
    SELECT i.seq, m.id, m.parent_seq, m.run, m.depth, m.path_tokens, m.turn FROM json_each(@seqs) w
    CROSS JOIN skein_messages i INDEXED BY skein_messages_seq ON i.conv = @conv AND i.seq = w.value
    CROSS JOIN skein_messages m NOT INDEXED ON m.n = i.n`,
  rawTombstones: `
    SELECT seq, parent_seq, id FROM skein_tombstones
    WHERE conv = @conv AND seq > @above ORDER BY seq LIMIT +@limit`,
  rawTurns: `
    SELECT key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until, started_at,
      ended_at
    FROM skein_turns WHERE conv = @conv AND first > @above ORDER BY first LIMIT +@limit`,
  blobRefs: `
    SELECT seq, hash FROM skein_blob_refs WHERE conv = @conv AND seq BETWEEN @lo AND @hi ORDER BY seq`,
  blobSizes: `SELECT hash, size FROM json_each(@hashes) w CROSS JOIN skein_blobs ON hash = w.value`,
  rawLinks: `
    SELECT branch, agent, directory, foreign_id, seen_seq, seen_id, updated_at
    FROM skein_agent_links WHERE conv = @conv`,
  draftedTurns: `
    SELECT d.turn, count(*) AS pieces, max(d.n) AS last,
      (SELECT t.status FROM skein_turns t WHERE t.conv = d.conv AND t.key = d.turn) AS status
    FROM skein_drafts d WHERE d.conv = @conv GROUP BY d.turn`,
  eventFacts: `SELECT count(*) AS count, max(n) AS last FROM skein_events WHERE conv = @conv`,
  rawTags: `SELECT tag FROM skein_tags WHERE conv = @conv`,
  unsearchable: `
    SELECT count(*) AS count, min(m.seq) AS first FROM skein_messages m
    WHERE m.conv = @conv AND m.seq >= @from AND m.seq < @below AND m.body IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM skein_search_map s WHERE s.n = m.n)`,

  rawBlobs: `
    SELECT b.hash, b.size, length(b.data) AS length,
      EXISTS (SELECT 1 FROM skein_blob_refs r WHERE r.hash = b.hash) AS used
    FROM skein_blobs b WHERE b.hash > @after ORDER BY b.hash LIMIT +@limit`,
  blobPiece: `SELECT substr(data, @offset + 1, @most) AS data FROM skein_blobs WHERE hash = @hash`,
  partCount: `SELECT count(*) AS count FROM skein_blob_parts WHERE hash = @hash`,
  strayParts: `
    SELECT p.hash, b.hash IS NOT NULL AS known, count(*) AS count FROM skein_blob_parts p
    LEFT JOIN skein_blobs b ON b.hash = p.hash
    WHERE b.hash IS NULL OR length(b.data) > 0 GROUP BY p.hash ORDER BY p.hash`,
  blobUsers: `
    SELECT c.id AS conversation_id, r.conv, r.seq, coalesce(m.id, '') AS id FROM skein_blob_refs r
    CROSS JOIN skein_conversations c ON c.c = r.conv
    LEFT JOIN skein_messages m ON m.conv = r.conv AND m.seq = r.seq
    WHERE r.hash = @hash ORDER BY r.conv, r.seq LIMIT +@limit`,
  rawPrompts: `SELECT hash, text FROM skein_prompts WHERE hash > @after ORDER BY hash LIMIT +@limit`,
  looseSearchEntries: `
    SELECT count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM skein_messages m WHERE m.n = s.n)) AS count,
      CAST(max(s.r) AS TEXT) AS last
    FROM (
      SELECT r, n FROM skein_search_map WHERE r > coalesce(CAST(@after AS INTEGER), -1)
      ORDER BY r LIMIT +@limit) s`,
} satisfies Partial<Queries>
