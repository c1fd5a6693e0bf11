import type { Queries } from '../../engine/statements.ts'
import { looseColumns, messageColumns, namedBranch } from './columns.ts'

/** Recursive walks use CROSS JOIN, which fixes the order. Otherwise the planner scans the whole
 *  conversation at each step (a thousand times slower at 5,000 messages). */

/** The runs of a path, newest first. Seqs decrease along a path. If damage says otherwise, the path ends
 *  there instead of looping. */
const runsOfPath = `
  r(lo, hi) AS (
    SELECT run, seq FROM skein_messages WHERE conv = @conv AND seq = @seq
    UNION ALL
    SELECT p.run, p.seq FROM r
    CROSS JOIN skein_messages f ON f.conv = @conv AND f.seq = r.lo
    CROSS JOIN skein_messages p ON p.conv = @conv AND p.seq = f.parent_seq AND p.seq < r.hi
  )`

/** Facts about the whole path, once. */
const onNewest = (isNewest: string, conv: string, depth: string) => `
  CASE WHEN ${isNewest} THEN (SELECT c.id FROM skein_conversations c WHERE c.c = ${conv}) END AS conversation_id,
  CASE WHEN ${isNewest} THEN ${depth} END AS end_depth`

/** Where a step of a tail begins that ends with this message. */
const stepFrom = (end: string) => `max(${end}.run, ${end}.seq - min(@messages, 128) + 1)`

/** The newest part of the path to a message. In steps within a run, so that a long run is not read to its
 *  beginning. Rows before the budget's edge (base) or above the depth (floor) are left out, except the one
 *  directly before. */
const tailOf = (id: string) => `
  WITH RECURSIVE w(conv, lo, hi, base, floor, head, depth) AS (
    SELECT h.conv, ${stepFrom('h')}, h.seq, h.path_tokens - @tokens, h.depth - @messages, h.seq, h.depth
    FROM skein_messages h WHERE h.id = ${id}
    UNION ALL
    SELECT w.conv,
      CASE WHEN p.path_tokens - p.tokens >= w.base AND p.depth > w.floor THEN ${stepFrom('p')} ELSE p.seq END,
      p.seq, w.base, w.floor, w.head, w.depth
    FROM w
    CROSS JOIN skein_messages f ON f.conv = w.conv AND f.seq = w.lo
      AND f.path_tokens - f.tokens >= w.base AND f.depth > w.floor
    CROSS JOIN skein_messages p ON p.conv = w.conv AND p.seq = f.parent_seq AND p.seq < w.hi
  )
  SELECT ${messageColumns.replace(
    'm.body',
    'CASE WHEN m.path_tokens - m.tokens >= w.base AND m.depth > w.floor THEN m.body END AS body',
  )}, ${onNewest('m.seq = w.head', 'w.conv', 'w.depth')}
  FROM w CROSS JOIN skein_messages m
    ON m.conv = w.conv AND m.seq BETWEEN w.lo AND w.hi AND m.path_tokens >= w.base AND m.depth >= w.floor`

const listMessages = (order: 'ASC' | 'DESC') => `
  SELECT ${looseColumns} FROM skein_messages m
  WHERE m.conv = (SELECT c.c FROM skein_conversations c WHERE c.id = @id) AND m.seq > @above AND m.seq < @below
    AND (@roles IS NULL OR m.role IN (SELECT value FROM json_each(@roles)))
    AND (@label IS NULL OR m.label = @label)
  ORDER BY m.seq ${order} LIMIT +@limit OFFSET @offset`

/** After messages were stored. */
const grow = (mark: string) => `
  UPDATE skein_conversations SET
    ${mark}
    next_seq = @next_seq, messages = messages + @added, tokens = tokens + @tokens,
    tokens_used = tokens_used + @tokens_used, cost = cost + @cost,
    title_folded = CASE WHEN title IS NULL THEN @title_folded ELSE title_folded END,
    title = coalesce(title, @title),
    updated_at = max(updated_at, @now),
    expires_at = CASE
      WHEN ttl_ms IS NOT NULL THEN @now + ttl_ms
      WHEN expires_at <= @now THEN @now + renew_ms
      ELSE expires_at END,
    version = version + 1
  WHERE c = @conv`

export const messageQueries = {
  lockBranch: `
    SELECT c.c AS conv, c.next_seq, coalesce(c.unindexed_from, c.next_seq) AS indexed_seq,
      c.title IS NOT NULL AS titled, c.trashed_at,
      b.name, b.head_seq, b.head_id, b.head_run, b.head_depth, b.head_path_tokens,
      EXISTS (SELECT 1 FROM skein_turns t WHERE t.conv = c.c AND t.key = @turn) AS turn_known,
      EXISTS (
        SELECT 1 FROM skein_turns t INDEXED BY skein_turns_open
        WHERE t.conv = c.c AND t.branch = b.name AND t.status = 'open') AS held
    FROM skein_conversations c JOIN skein_branches b ON b.conv = c.c AND b.name = @name WHERE c.id = @id`,
  insertMessage: `
    INSERT INTO skein_messages (
      id, conv, seq, parent_seq, run, depth, role, at, tokens, path_tokens, turn, step, label, body_hash, body)
    VALUES (
      @id, @conv, @seq, @parent_seq, @run, @depth, @role, @at, @tokens, @path_tokens, @turn, @step, @label,
      unhex(@body_hash), @body)
    ON CONFLICT (id) DO NOTHING`,
  grow: grow(''),
  growIndexed: grow('unindexed_from = next_seq,'),
  charge: `
    UPDATE skein_conversations SET tokens_used = tokens_used + @tokens_used, cost = cost + @cost,
      version = version + 1
    WHERE c = @conv`,
  locate: `
    SELECT m.id, m.conv, m.seq, m.parent_seq, m.run, m.depth, m.path_tokens, m.turn, c.id AS conversation_id
    FROM skein_messages m JOIN skein_conversations c ON c.c = m.conv WHERE m.id = @id`,
  placesAt: `
    SELECT m.id, m.seq, m.run, m.depth, m.path_tokens FROM json_each(@seqs) w
    CROSS JOIN skein_messages m ON m.conv = @conv AND m.seq = w.value`,
  messagesByIds: `
    SELECT ${looseColumns} FROM json_each(@ids) w CROSS JOIN skein_messages m ON m.id = w.value`,
  // Each step of a run is one deeper, so the depths of a page are seqs.
  path: `
    WITH RECURSIVE r(conv, lo, hi, depth, end_depth) AS (
      SELECT h.conv, h.run, h.seq, h.depth, h.depth FROM skein_messages h WHERE h.id = @id
      UNION ALL
      SELECT r.conv, p.run, p.seq, p.depth, r.end_depth FROM r
      CROSS JOIN skein_messages f ON f.conv = r.conv AND f.seq = r.lo AND r.depth - (r.hi - r.lo) > @from
      CROSS JOIN skein_messages p ON p.conv = r.conv AND p.seq = f.parent_seq AND p.seq < r.hi
    )
    SELECT ${messageColumns}, ${onNewest('m.depth = min(@to, r.end_depth)', 'r.conv', 'r.end_depth')}
    FROM r CROSS JOIN skein_messages m
      ON m.conv = r.conv AND m.seq BETWEEN max(r.lo, r.hi - (r.depth - @from)) AND r.hi - max(0, r.depth - @to)`,
  tail: tailOf('@id'),
  tailOfBranch: tailOf(`(SELECT b.head_id FROM ${namedBranch} b)`),
  pathRuns: `WITH RECURSIVE ${runsOfPath} SELECT lo, hi FROM r`,
  messagesBetween: `
    SELECT ${looseColumns} FROM skein_messages m
    WHERE m.conv = @conv AND m.seq BETWEEN @lo AND @hi ORDER BY m.seq LIMIT +@limit`,
  idsBetween: `
    SELECT seq, id FROM skein_messages WHERE conv = @conv AND seq BETWEEN @lo AND @hi ORDER BY seq`,
  listMessages: listMessages('ASC'),
  listMessagesDown: listMessages('DESC'),
  messagesByPrefix: `
    SELECT m.id, c.id AS conversation_id FROM skein_messages m JOIN skein_conversations c ON c.c = m.conv
    WHERE m.id >= @lo AND m.id < @hi ORDER BY m.id LIMIT 11`,
  setLabel: `UPDATE skein_messages SET label = @label WHERE conv = @conv AND seq = @seq`,
  children: `
    SELECT seq FROM skein_messages WHERE conv = @conv AND seq = @seq + 1 AND parent_seq = @seq
    UNION ALL
    SELECT seq FROM skein_messages INDEXED BY skein_messages_fork
    WHERE conv = @conv AND parent_seq = @seq AND run = seq AND seq <> @seq + 1`,

  putBlob: `
    INSERT INTO skein_blobs (hash, size, data) VALUES (@hash, @size, @data) ON CONFLICT (hash) DO NOTHING`,
  putLargeBlob: `
    INSERT INTO skein_blobs (hash, size, data) VALUES (@hash, @size, x'') ON CONFLICT (hash) DO NOTHING`,
  deleteBlobParts: `DELETE FROM skein_blob_parts WHERE hash = @hash`,
  putBlobPart: `INSERT INTO skein_blob_parts (hash, part, data) VALUES (@hash, @part, @data)`,
  putBlobRef: `INSERT INTO skein_blob_refs (conv, seq, hash) VALUES (@conv, @seq, @hash)`,
  // A part of no bytes is null in SQLite.
  blobs: `
    SELECT hash, size, CASE WHEN size <= @most THEN data ELSE coalesce(substr(data, 1, @most), x'') END AS data
    FROM json_each(@hashes) w
    CROSS JOIN skein_blobs ON hash = w.value`,
  blobParts: `
    SELECT p.hash, p.part, CASE WHEN length(p.data) <= @most THEN p.data ELSE substr(p.data, 1, @most) END AS data
    FROM json_each(@hashes) w
    CROSS JOIN skein_blob_parts p ON p.hash = w.value AND p.part >= @from AND p.part < @below`,
  deleteBlobRefs: `DELETE FROM skein_blob_refs WHERE conv = @conv AND seq BETWEEN @lo AND @hi`,
  blobsBetween: `
    SELECT DISTINCT hash FROM skein_blob_refs WHERE conv = @conv AND seq BETWEEN @lo AND @hi ORDER BY hash`,
  // A trigger deletes their parts.
  deleteLooseBlobs: `
    DELETE FROM skein_blobs WHERE hash IN (SELECT value FROM json_each(@hashes))
      AND NOT EXISTS (SELECT 1 FROM skein_blob_refs r WHERE r.hash = skein_blobs.hash)`,
} satisfies Partial<Queries>
