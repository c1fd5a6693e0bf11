import type { Queries } from '../../engine/statements.ts'
import { at, looseColumns, messageColumns, namedBranch, span } from './columns.ts'

/** LATERAL … OFFSET 0 fixes the plan: on a new or growing table, the planner would join by scanning the
 *  whole conversation. */

const between = (conv: string, lo: string, hi: string) => `
  LATERAL (
    SELECT * FROM skein.messages x
    WHERE x.tenant = @tenant::text AND x.conv = ${conv} AND x.seq BETWEEN ${lo} AND ${hi} OFFSET 0)`

/** The runs of a path, newest first. Seqs decrease along a path. If damage says otherwise, the path ends
 *  there instead of looping. */
const runsOfPath = `
  r(lo, hi) AS (
    SELECT run, seq FROM skein.messages WHERE tenant = @tenant::text AND conv = @conv::uuid AND seq = @seq::int
    UNION ALL
    SELECT p.run, p.seq FROM r
    JOIN ${at('x.parent_seq', 'r.lo')} f ON true
    JOIN ${at('x.run, x.seq', 'f.parent_seq')} p ON p.seq < r.hi
  )`

/** Facts about the whole path, once. */
const onNewest = (isNewest: string, conversation: string, depth: string) => `
  CASE WHEN ${isNewest} THEN ${conversation} END AS conversation_id,
  CASE WHEN ${isNewest} THEN ${depth} END AS end_depth`

/** Where the newest step of a tail of `h` begins. It includes the message before the tail. */
const stepFrom = `greatest(h.run, h.seq - least(@messages::bigint, 128)::int)`
const tailBase = `h.path_tokens - @tokens::bigint`
const tailFloor = `h.depth - @messages::bigint`

/** The columns of a tail: only what the rows do not tell together. `newest` has the rest, once: the
 *  conversation, and the depth and the sum of tokens of the newest message. The message before the tail has
 *  no body. */
const tailColumns = `
  m.id, m.seq, m.role, m.at, m.tokens, m.turn, m.step, m.label,
  CASE WHEN m.path_tokens - m.tokens >= ${tailBase} AND m.depth > ${tailFloor} THEN m.body END AS body, m.erased,
  CASE WHEN m.seq = h.seq THEN concat_ws(' ', h.conv, m.depth, m.path_tokens) END AS newest`

/** The newest part of the path to a message: the newest step within the run of the head, which is all of most
 *  tails. The function follows forks and long runs. Rows before the budget's edge or above the depth are left
 *  out, except the one directly before. Depths of a run are consecutive, so the depth of the step's first
 *  message is known without reading it. */
const tailOf = (id: string) => `
  SELECT ${tailColumns}
  FROM skein.messages h CROSS JOIN LATERAL (
    SELECT * FROM skein.messages x
    WHERE x.tenant = @tenant::text AND x.conv = h.conv AND x.seq BETWEEN ${stepFrom} AND h.seq
      AND x.path_tokens >= ${tailBase} AND x.depth >= ${tailFloor}
    UNION ALL
    SELECT * FROM skein.tail_before(
      @tenant::text, h.conv, ${stepFrom}, h.seq, ${tailBase}, ${tailFloor}, @messages::bigint)
    WHERE h.depth - h.seq + ${stepFrom} > greatest(0, ${tailFloor})
    OFFSET 0) m
  WHERE h.tenant = @tenant::text AND h.id = ${id}`

const listMessages = (order: 'ASC' | 'DESC') => `
  SELECT ${looseColumns} FROM skein.messages m
  WHERE m.tenant = @tenant::text AND m.conv = @id::uuid AND m.seq > @above::int AND m.seq < @below::int
    AND (@roles::text[] IS NULL OR m.role = any(@roles::text[]))
    AND (@label::text IS NULL OR m.label = @label::text)
  ORDER BY m.seq ${order} LIMIT @limit::bigint OFFSET @offset::bigint`

/** A blob is returned in pieces of 16 MiB: as text on the wire it doubles, a string has a maximum length,
 *  and data in transit is held more than once. */
export const blobPiece = 16_777_216

/** Messages and blobs. */
const grow = `
    UPDATE skein.conversations SET
      next_seq = @next_seq::int, messages = messages + @added::int, tokens = tokens + @tokens::bigint,
      tokens_used = tokens_used + @tokens_used::bigint, cost = cost + @cost::float8,
      title_folded = CASE WHEN title IS NULL THEN @title_folded::text ELSE title_folded END,
      title = coalesce(title, @title::text),
      updated_at = greatest(updated_at, @now::bigint),
      expires_at = CASE
        WHEN ttl_ms IS NOT NULL THEN @now::bigint + ttl_ms
        WHEN expires_at <= @now::bigint THEN @now::bigint + renew_ms
        ELSE expires_at END,
      version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`

export const messageQueries = {
  insertMessage: `
    INSERT INTO skein.messages (
      tenant, conv, seq, parent_seq, run, depth, tokens, turn, path_tokens, at, step, id, role, label, body_hash,
      body)
    VALUES (
      @tenant::text, @conv::uuid, @seq::int, @parent_seq::int, @run::int, @depth::int, @tokens::int, @turn::int,
      @path_tokens::bigint, @at::bigint, @step::int, @id::text, @role::text, @label::text,
      decode(@body_hash::text, 'hex'), @body::text)
    ON CONFLICT (tenant, id) DO NOTHING
    RETURNING seq`,
  grow,
  // The row tells whether all messages were in the search index.
  growIndexed: grow,
  charge: `
    UPDATE skein.conversations SET tokens_used = tokens_used + @tokens_used::bigint, cost = cost + @cost::float8,
      version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`,
  locate: `
    SELECT m.id, m.conv, m.seq, m.parent_seq, m.run, m.depth, m.path_tokens, m.turn,
      m.conv AS conversation_id
    FROM skein.messages m WHERE m.tenant = @tenant::text AND m.id = @id::text`,
  placesAt: `
    SELECT m.* FROM unnest(@seqs::int[]) AS w(seq)
    JOIN ${at('x.id, x.seq, x.run, x.depth, x.path_tokens', 'w.seq')} m ON true`,
  messagesByIds: `
    SELECT ${looseColumns} FROM unnest(@ids::text[]) AS w(id)
    JOIN LATERAL (
      SELECT * FROM skein.messages x WHERE x.tenant = @tenant::text AND x.id = w.id OFFSET 0) m ON true`,
  // Unsorted: the server would sort wide rows on disk, the caller sorts in memory. Each step of a run is one
  // deeper, so the depths of a page are seqs.
  path: `
    WITH RECURSIVE r(conv, lo, hi, depth, end_depth) AS (
      SELECT h.conv, h.run, h.seq, h.depth, h.depth
      FROM skein.messages h WHERE h.tenant = @tenant::text AND h.id = @id::text
      UNION ALL
      SELECT r.conv, p.run, p.seq, p.depth, r.end_depth FROM r
      JOIN ${at('x.parent_seq', 'r.lo', 'r.conv')} f ON r.depth - (r.hi - r.lo) > @from::int
      JOIN ${at('x.run, x.seq, x.depth', 'f.parent_seq', 'r.conv')} p ON p.seq < r.hi
    )
    SELECT ${messageColumns}, ${onNewest('m.depth = least(@to::int, r.end_depth)', 'r.conv', 'r.end_depth')}
    FROM r JOIN ${between(
      'r.conv',
      'greatest(r.lo, r.hi - (r.depth - @from::int))',
      'r.hi - greatest(0, r.depth - @to::int)',
    )} m ON true`,
  tail: tailOf('@id::text'),
  tailOfBranch: tailOf(`(SELECT b.head_id FROM ${namedBranch} b)`),
  pathRuns: `WITH RECURSIVE ${runsOfPath} SELECT lo, hi FROM r`,
  messagesBetween: `
    SELECT ${looseColumns} FROM skein.messages m WHERE m.${span} ORDER BY m.seq LIMIT @limit::bigint`,
  idsBetween: `SELECT seq, id FROM skein.messages WHERE ${span} ORDER BY seq`,
  listMessages: listMessages('ASC'),
  listMessagesDown: listMessages('DESC'),
  messagesByPrefix: `
    SELECT id, conv AS conversation_id FROM skein.messages
    WHERE tenant = @tenant::text AND id >= @lo::text AND id < @hi::text ORDER BY id LIMIT 11`,
  setLabel: `
    UPDATE skein.messages SET label = @label::text
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND seq = @seq::int`,
  children: `
    SELECT seq FROM skein.messages
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND seq = @seq::int + 1 AND parent_seq = @seq::int
    UNION ALL
    SELECT seq FROM skein.messages
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND parent_seq = @seq::int AND run = seq
      AND seq <> @seq::int + 1`,

  // Locks an existing blob too, so that it cannot be found unused and removed.
  putBlob: `
    INSERT INTO skein.blobs (tenant, hash, size, data)
    VALUES (@tenant::text, @hash::text, @size::bigint, @data::bytea)
    ON CONFLICT (tenant, hash) DO UPDATE SET size = excluded.size`,
  // Waits for a process that is storing or removing it.
  putLargeBlob: `
    INSERT INTO skein.blobs (tenant, hash, size, data) VALUES (@tenant::text, @hash::text, @size::bigint, '')
    ON CONFLICT (tenant, hash) DO NOTHING`,
  deleteBlobParts: `DELETE FROM skein.blob_parts WHERE tenant = @tenant::text AND hash = @hash::text`,
  putBlobPart: `
    INSERT INTO skein.blob_parts (tenant, hash, part, data)
    VALUES (@tenant::text, @hash::text, @part::int, @data::bytea)`,
  putBlobRef: `
    INSERT INTO skein.blob_refs (tenant, conv, seq, hash)
    VALUES (@tenant::text, @conv::uuid, @seq::int, @hash::text)`,
  // Unsorted like a path: sorting pieces on disk would cost more than everything else.
  blobs: `
    SELECT b.hash, b.size, n, substr(b.data, n * ${blobPiece} + 1, least(${blobPiece}, @most::int - n * ${blobPiece}))
      AS data
    FROM unnest(@hashes::text[]) AS w(hash)
    JOIN LATERAL (
      SELECT * FROM skein.blobs x WHERE x.tenant = @tenant::text AND x.hash = w.hash OFFSET 0) b ON true
    CROSS JOIN LATERAL
      generate_series(0, greatest(0, (least(octet_length(b.data), @most::int) - 1) / ${blobPiece})::int) n`,
  blobParts: `
    SELECT p.hash, p.part, substr(p.data, 1, @most::int) AS data FROM unnest(@hashes::text[]) AS w(hash)
    JOIN LATERAL (
      SELECT * FROM skein.blob_parts x
      WHERE x.tenant = @tenant::text AND x.hash = w.hash AND x.part >= @from::int AND x.part < @below::int
      OFFSET 0) p ON true`,
  deleteBlobRefs: `DELETE FROM skein.blob_refs WHERE ${span}`,
  blobsBetween: `SELECT DISTINCT hash FROM skein.blob_refs WHERE ${span} ORDER BY hash`,
  // Locks first: waits for a writer that is about to refer to one, and then sees its reference.
  deleteLooseBlobs: [
    `SELECT FROM skein.blobs WHERE tenant = @tenant::text AND hash = any(@hashes::text[])
    ORDER BY hash FOR UPDATE`,
    `DELETE FROM skein.blobs b WHERE b.tenant = @tenant::text AND b.hash = any(@hashes::text[])
      AND NOT EXISTS (SELECT FROM skein.blob_refs r WHERE r.tenant = @tenant::text AND r.hash = b.hash)`,
    `DELETE FROM skein.blob_parts p WHERE p.tenant = @tenant::text AND p.hash = any(@hashes::text[])
      AND NOT EXISTS (SELECT FROM skein.blobs b WHERE b.tenant = @tenant::text AND b.hash = p.hash)`,
  ],
} satisfies Partial<Queries>
