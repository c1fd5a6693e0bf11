import type { Queries } from '../../engine/statements.ts'
import { at, turnColumns as convertedTurnColumns, span } from './columns.ts'

const inConv = `tenant = @tenant::text AND conv = @conv::uuid`

/** The id at a seq, of the message or of its tombstone. */
const idAt = (seq: string) => `coalesce(
    (SELECT p.id FROM skein.messages p WHERE p.tenant = @tenant::text AND p.conv = @conv::uuid AND p.seq = ${seq}),
    (SELECT d.id FROM skein.tombstones d WHERE d.tenant = @tenant::text AND d.conv = @conv::uuid AND d.seq = ${seq}))`

/** With the lease as it is stored: a record that is copied to another store and back is unchanged. */
const turnColumns = `
  key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until, started_at, ended_at`

const insertTurn = `
    INSERT INTO skein.turns (tenant, conv, ${turnColumns})
    VALUES (
      @tenant::text, @conv::uuid, @key::text, @branch::text, @first::int, @last::int, @last_step::int,
      @status::text, @model::text, @prompt_hash::text, @usage::text, @holder::text, @lease_until::bigint,
      @started_at::bigint, @ended_at::bigint)`

/** Reads and writes records. */
export const recordQueries = {
  bodySizes: `
    SELECT seq, coalesce(octet_length(body), 0) AS size FROM skein.messages
    WHERE ${span} AND @most::bigint < (SELECT sum(octet_length(body)) FROM skein.messages WHERE ${span})
    ORDER BY seq`,
  messageRecords: `
    SELECT m.seq, m.id, m.parent_seq, m.role, m.at, m.tokens, m.turn, m.step, m.label, m.body_hash, m.body, m.erased,
      p.id AS parent_id, f.id AS turn_id
    FROM (SELECT * FROM skein.messages WHERE ${span}) m
    LEFT JOIN ${at('x.id', 'm.parent_seq')} p ON m.parent_seq < @lo::int
    LEFT JOIN ${at('x.id', 'm.turn')} f ON m.turn < @lo::int
    ORDER BY m.seq`,
  tombstoneRecords: `
    SELECT t.seq, t.parent_seq, t.id, t.at, t.reason, ${idAt('t.parent_seq')} AS parent_id
    FROM skein.tombstones t WHERE t.${span} ORDER BY t.seq`,
  turnRecords: `
    SELECT ${turnColumns}, ${idAt('t.first')} AS first_id, ${idAt('t.last')} AS last_id
    FROM skein.turns t
    WHERE t.tenant = @tenant::text AND t.conv = @conv::uuid AND t.key > @after::text AND t.first < @below::int
    ORDER BY t.key LIMIT @limit::bigint`,
  openTurnRecords: `SELECT ${turnColumns} FROM skein.turns WHERE ${inConv} AND status = 'open' ORDER BY first`,
  turnsByKey: `
    SELECT ${turnColumns} FROM skein.turns
    WHERE ${inConv} AND key > @after::text ORDER BY key LIMIT @limit::bigint`,
  summaryRecords: `
    SELECT last_seq, first_seq, last_id, first_id, model, tokens, text, checksum, holder, lease_until, created_at
    FROM skein.summaries
    WHERE ${inConv} AND text IS NOT NULL AND last_seq < @below::int
      AND (last_seq, first_seq) > (@after_last::int, @after_first::int)
    ORDER BY last_seq, first_seq LIMIT @limit::bigint`,
  linkRecords: `
    SELECT branch, agent, directory, foreign_id, seen_id, updated_at FROM skein.agent_links
    WHERE ${inConv} ORDER BY branch, agent, directory`,

  locateAll: `
    SELECT m.id, m.conv, m.seq, m.parent_seq, m.run, m.depth, m.path_tokens, m.turn, m.conv AS conversation_id
    FROM unnest(@ids::text[]) AS w(id)
    JOIN LATERAL (
      SELECT * FROM skein.messages x WHERE x.tenant = @tenant::text AND x.id = w.id OFFSET 0) m ON true`,
  buried: `
    SELECT seq, id FROM skein.tombstones WHERE ${inConv} AND id = any(@ids::text[]) ORDER BY seq`,
  // A process that removes blobs locks them first. In a fixed order, so that two writers do not deadlock.
  keepBlobs: `
    SELECT hash, size FROM skein.blobs WHERE tenant = @tenant::text AND hash = any(@hashes::text[])
    ORDER BY hash FOR KEY SHARE`,
  insertConversationRecord: `
    INSERT INTO skein.conversations (
      tenant, id, kind, title, title_folded, model, label, channel, directory, project, task, owner, parent_id,
      parent_message, prompt_policy, prompt_hash, tool_results, metadata, tags, active_branch, tokens_used, cost,
      created_at, updated_at, expires_at, ttl_ms, renew_ms, trashed_at)
    VALUES (
      @tenant::text, @id::uuid, @kind::text, @title::text, @title_folded::text, @model::text, @label::text,
      @channel::text, @directory::text, @project::text, @task::text, @owner::text, @parent_id::uuid,
      @parent_message::text, @prompt_policy::text, @prompt_hash::text, @tool_results::text, @metadata::text,
      @tags::text, @active_branch::text, @tokens_used::bigint, @cost::float8, @created_at::bigint,
      @updated_at::bigint, @expires_at::bigint, @ttl_ms::bigint, @renew_ms::bigint, @trashed_at::bigint)
    ON CONFLICT (tenant, id) DO NOTHING
    RETURNING id AS conv`,
  raiseTotals: `
    UPDATE skein.conversations SET tokens_used = greatest(tokens_used, @tokens_used::bigint),
      cost = greatest(cost, @cost::float8), updated_at = greatest(updated_at, @updated_at::bigint)
    WHERE tenant = @tenant::text AND id = @conv::uuid AND (
      tokens_used < @tokens_used::bigint OR cost < @cost::float8 OR updated_at < @updated_at::bigint)`,
  insertMessageRecord: `
    INSERT INTO skein.messages (
      tenant, conv, seq, parent_seq, run, depth, tokens, turn, path_tokens, at, step, id, role, label, body_hash,
      body, erased)
    VALUES (
      @tenant::text, @conv::uuid, @seq::int, @parent_seq::int, @run::int, @depth::int, @tokens::int, @turn::int,
      @path_tokens::bigint, @at::bigint, @step::int, @id::text, @role::text, @label::text,
      decode(@body_hash::text, 'hex'), @body::text, @erased::text)`,
  insertTombstone: `
    INSERT INTO skein.tombstones (tenant, conv, seq, parent_seq, id, at, reason)
    VALUES (
      @tenant::text, @conv::uuid, @seq::int, @parent_seq::int, @id::text, @at::bigint, @reason::text)`,
  growByRecords: `
    UPDATE skein.conversations SET next_seq = @next_seq::int, messages = messages + @added::int,
      tokens = tokens + @tokens::bigint, version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`,
  // Their leases are compared with the time of the client.
  turnsByKeys: `
    SELECT ${convertedTurnColumns} FROM unnest(@keys::text[]) AS w(wanted)
    JOIN LATERAL (
      SELECT * FROM skein.turns x WHERE x.tenant = @tenant::text AND x.conv = @conv::uuid AND x.key = w.wanted
      OFFSET 0) t ON true`,
  insertTurnRecord: insertTurn,
  putTurnRecord: `${insertTurn}
    ON CONFLICT (tenant, conv, key) DO UPDATE SET
      branch = excluded.branch, first = excluded.first, last = excluded.last, last_step = excluded.last_step,
      status = excluded.status, model = excluded.model, prompt_hash = excluded.prompt_hash, usage = excluded.usage,
      holder = excluded.holder, lease_until = excluded.lease_until, started_at = excluded.started_at,
      ended_at = excluded.ended_at`,
  putSummaryRecord: `
    INSERT INTO skein.summaries (
      tenant, conv, last_seq, first_seq, last_id, first_id, model, tokens, text, checksum, created_at)
    VALUES (
      @tenant::text, @conv::uuid, @last_seq::int, @first_seq::int, @last_id::text, @first_id::text, @model::text,
      @tokens::int, @text::text, @checksum::text, @created_at::bigint)
    ON CONFLICT (tenant, conv, last_seq, first_seq) DO UPDATE SET
      model = excluded.model, tokens = excluded.tokens, text = excluded.text, checksum = excluded.checksum,
      holder = NULL, lease_until = NULL, created_at = excluded.created_at`,
  erasedBetween: `SELECT erased FROM skein.messages WHERE ${span} AND erased IS NOT NULL`,
  eventLike: `
    SELECT n FROM skein.events
    WHERE ${inConv} AND type = @type::text AND at = @at::bigint AND data = @data::text LIMIT 1`,
  putBranchRecord: `
    INSERT INTO skein.branches (
      tenant, conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, key, former_key, trashed_key,
      title, created_at, updated_at)
    VALUES (
      @tenant::text, @conv::uuid, @name::text, @head_seq::int, @head_id::text, @head_run::int, @head_depth::int,
      @head_path_tokens::bigint, @key::text, @former_key::text, @trashed_key::text, @title::text,
      @created_at::bigint, @updated_at::bigint)
    ON CONFLICT (tenant, conv, name) DO UPDATE SET
      head_seq = excluded.head_seq, head_id = excluded.head_id, head_run = excluded.head_run,
      head_depth = excluded.head_depth, head_path_tokens = excluded.head_path_tokens, key = excluded.key,
      former_key = excluded.former_key, trashed_key = excluded.trashed_key, title = excluded.title,
      created_at = excluded.created_at, updated_at = excluded.updated_at`,
} satisfies Partial<Queries>
