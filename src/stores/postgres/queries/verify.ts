import { tablesOfConversation } from '../../engine/schema.ts'
import type { Queries } from '../../engine/statements.ts'
import { hiddenTenant, span } from './columns.ts'

const conversation = `
  SELECT c.id AS conv, c.id, c.active_branch, c.next_seq, c.next_event, c.indexed_seq, c.messages, c.tokens, c.version,
    c.trashed_at, c.purging, c.prompt_hash, c.tags,
    (c.prompt_hash IS NULL OR EXISTS (
      SELECT FROM skein.prompts p WHERE p.tenant = @tenant::text AND p.hash = c.prompt_hash))::int AS prompt_known
  FROM skein.conversations c WHERE c.tenant = @tenant::text`

const inConv = `tenant = @tenant::text AND conv = @conv::uuid`

/** For `verify`. There are no foreign keys, so it also checks references. */
export const verifyQueries = {
  rawConversations: `
    ${conversation} AND (@after::uuid IS NULL OR c.id > @after::uuid) ORDER BY c.id LIMIT @limit::bigint`,
  rawConversation: `${conversation} AND c.id = @id::uuid`,
  rawConversationAt: `${conversation} AND c.id = @conv::uuid`,
  recentConversations: `
    ${conversation} AND c.trashed_at IS NULL ORDER BY c.updated_at DESC, c.id DESC LIMIT @limit::bigint`,
  knownConversations: `
    SELECT id AS conv, id FROM skein.conversations
    WHERE tenant = @tenant::text AND (@after::uuid IS NULL OR id > @after::uuid) ORDER BY id LIMIT @limit::bigint`,
  messageTotal: `
    SELECT count(*) AS conversations, coalesce(sum(messages), 0)::bigint AS messages FROM skein.conversations
    WHERE tenant = @tenant::text`,
  orphans: [...tablesOfConversation, 'search']
    .map(
      table => `
    SELECT '${table}' AS place, t.conv::text AS conv, count(*) AS count FROM skein.${table} t
    WHERE t.tenant = @tenant::text AND NOT EXISTS (
      SELECT FROM skein.conversations c WHERE c.tenant = @tenant::text AND c.id = t.conv) GROUP BY t.conv`,
    )
    .join(' UNION ALL '),

  rawMessages: `
    SELECT m.seq AS found_at, 1 AS mine, m.seq, m.id, m.parent_seq, m.run, m.depth, m.role, m.at, m.tokens,
      m.path_tokens, m.turn, m.step, m.label, m.body_hash, m.body, m.erased
    FROM skein.messages m WHERE m.${inConv} AND m.seq > @above::int ORDER BY m.seq LIMIT @limit::bigint`,
  rawSeqs: `SELECT seq FROM skein.messages WHERE ${inConv} AND seq > @above::int ORDER BY seq LIMIT @limit::bigint`,
  rawPlaces: `
    SELECT m.seq, m.id, m.parent_seq, m.run, m.depth, m.path_tokens, m.turn FROM unnest(@seqs::int[]) AS w(seq)
    JOIN LATERAL (
      SELECT * FROM skein.messages x WHERE x.tenant = @tenant::text AND x.conv = @conv::uuid AND x.seq = w.seq
      OFFSET 0) m ON true`,
  rawTombstones: `
    SELECT seq, parent_seq, id FROM skein.tombstones
    WHERE ${inConv} AND seq > @above::int ORDER BY seq LIMIT @limit::bigint`,
  rawTurns: `
    SELECT key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until, started_at,
      ended_at
    FROM skein.turns WHERE ${inConv} AND first > @above::int ORDER BY first LIMIT @limit::bigint`,
  blobRefs: `SELECT seq, hash FROM skein.blob_refs WHERE ${span} ORDER BY seq`,
  blobSizes: `
    SELECT b.hash, b.size FROM skein.blobs b WHERE b.tenant = @tenant::text AND b.hash = ANY (@hashes::text[])`,
  rawLinks: `
    SELECT branch, agent, directory, foreign_id, seen_seq, seen_id, updated_at
    FROM skein.agent_links WHERE ${inConv}`,
  draftedTurns: `
    SELECT d.turn, count(*) AS pieces, max(d.n) AS last, (
      SELECT t.status FROM skein.turns t
      WHERE t.tenant = @tenant::text AND t.conv = @conv::uuid AND t.key = d.turn) AS status
    FROM skein.drafts d WHERE d.${inConv} GROUP BY d.turn`,
  eventFacts: `SELECT count(*) AS count, max(n) AS last FROM skein.events WHERE ${inConv}`,
  rawTags: `SELECT tag FROM skein.tags WHERE ${inConv}`,
  unsearchable: `
    SELECT count(*) AS count, min(m.seq) AS first FROM skein.messages m
    WHERE m.${inConv} AND m.seq >= @from::int AND m.seq < @below::int AND m.body IS NOT NULL AND NOT EXISTS (
      SELECT FROM skein.search s WHERE s.${hiddenTenant} AND s.conv = m.conv AND s.seq = m.seq)`,

  rawBlobs: `
    SELECT b.hash, b.size, octet_length(b.data) AS length, (EXISTS (
      SELECT FROM skein.blob_refs r WHERE r.tenant = @tenant::text AND r.hash = b.hash))::int AS used
    FROM skein.blobs b WHERE b.tenant = @tenant::text AND b.hash > @after::text ORDER BY b.hash LIMIT @limit::bigint`,
  blobPiece: `
    SELECT substring(data FROM @offset::int + 1 FOR @most::int) AS data FROM skein.blobs
    WHERE tenant = @tenant::text AND hash = @hash::text`,
  partCount: `
    SELECT count(*) AS count FROM skein.blob_parts WHERE tenant = @tenant::text AND hash = @hash::text`,
  strayParts: `
    SELECT p.hash, (b.hash IS NOT NULL)::int AS known, count(*) AS count FROM skein.blob_parts p
    LEFT JOIN skein.blobs b ON b.tenant = @tenant::text AND b.hash = p.hash
    WHERE p.tenant = @tenant::text AND (b.hash IS NULL OR octet_length(b.data) > 0)
    GROUP BY p.hash, b.hash ORDER BY p.hash`,
  blobUsers: `
    SELECT r.conv AS conversation_id, r.conv, r.seq, coalesce((
      SELECT m.id FROM skein.messages m
      WHERE m.tenant = @tenant::text AND m.conv = r.conv AND m.seq = r.seq), '') AS id
    FROM skein.blob_refs r WHERE r.tenant = @tenant::text AND r.hash = @hash::text
    ORDER BY r.conv, r.seq LIMIT @limit::bigint`,
  rawPrompts: `
    SELECT hash, text FROM skein.prompts
    WHERE tenant = @tenant::text AND hash > @after::text ORDER BY hash LIMIT @limit::bigint`,
  looseSearchEntries: `
    SELECT count(*) AS count, NULL::text AS last FROM skein.search s
    WHERE s.tenant = @tenant::text AND NOT EXISTS (
      SELECT FROM skein.messages m WHERE m.tenant = @tenant::text AND m.conv = s.conv AND m.seq = s.seq)`,
} satisfies Partial<Queries>
