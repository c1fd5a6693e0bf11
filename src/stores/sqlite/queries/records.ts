import type { Queries } from '../../engine/statements.ts'

/** The id at a seq, of the message or of its tombstone. */
const idAt = (conv: string, seq: string) => `coalesce(
    (SELECT p.id FROM skein_messages p WHERE p.conv = ${conv} AND p.seq = ${seq}),
    (SELECT d.id FROM skein_tombstones d WHERE d.conv = ${conv} AND d.seq = ${seq}))`

const turnColumns = `
  key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until, started_at, ended_at`

const insertTurn = `
    INSERT INTO skein_turns (conv, ${turnColumns})
    VALUES (
      @conv, @key, @branch, @first, @last, @last_step, @status, @model, @prompt_hash, @usage, @holder, @lease_until,
      @started_at, @ended_at)`

/** Reads and writes records. */
export const recordQueries = {
  bodySizes: `
    SELECT seq, coalesce(octet_length(body), 0) AS size FROM skein_messages
    WHERE conv = @conv AND seq BETWEEN @lo AND @hi AND @most < (
      SELECT sum(octet_length(body)) FROM skein_messages WHERE conv = @conv AND seq BETWEEN @lo AND @hi)
    ORDER BY seq`,
  messageRecords: `
    SELECT m.seq, m.id, m.parent_seq, m.role, m.at, m.tokens, m.turn, m.step, m.label, m.body_hash, m.body, m.erased,
      CASE WHEN m.parent_seq < @lo THEN
        (SELECT p.id FROM skein_messages p WHERE p.conv = m.conv AND p.seq = m.parent_seq) END AS parent_id,
      CASE WHEN m.turn < @lo THEN
        (SELECT f.id FROM skein_messages f WHERE f.conv = m.conv AND f.seq = m.turn) END AS turn_id
    FROM skein_messages m WHERE m.conv = @conv AND m.seq BETWEEN @lo AND @hi ORDER BY m.seq`,
  tombstoneRecords: `
    SELECT t.seq, t.parent_seq, t.id, t.at, t.reason, ${idAt('t.conv', 't.parent_seq')} AS parent_id
    FROM skein_tombstones t WHERE t.conv = @conv AND t.seq BETWEEN @lo AND @hi ORDER BY t.seq`,
  turnRecords: `
    SELECT ${turnColumns}, ${idAt('t.conv', 't.first')} AS first_id, ${idAt('t.conv', 't.last')} AS last_id
    FROM skein_turns t WHERE t.conv = @conv AND t.key > @after AND t.first < @below ORDER BY t.key LIMIT +@limit`,
  openTurnRecords: `
    SELECT ${turnColumns} FROM skein_turns INDEXED BY skein_turns_open
    WHERE conv = @conv AND status = 'open' ORDER BY first`,
  summaryRecords: `
    SELECT last_seq, first_seq, last_id, first_id, model, tokens, text, checksum, holder, lease_until, created_at
    FROM skein_summaries
    WHERE conv = @conv AND text IS NOT NULL AND last_seq < @below
      AND (last_seq, first_seq) > (@after_last, @after_first)
    ORDER BY last_seq, first_seq LIMIT +@limit`,
  linkRecords: `
    SELECT branch, agent, directory, foreign_id, seen_id, updated_at FROM skein_agent_links
    WHERE conv = @conv ORDER BY branch, agent, directory`,

  locateAll: `
    SELECT m.id, m.conv, m.seq, m.parent_seq, m.run, m.depth, m.path_tokens, m.turn, c.id AS conversation_id
    FROM json_each(@ids) w
    CROSS JOIN skein_messages m ON m.id = w.value
    CROSS JOIN skein_conversations c ON c.c = m.conv`,
  buried: `
    SELECT seq, id FROM skein_tombstones
    WHERE conv = @conv AND id IN (SELECT value FROM json_each(@ids)) ORDER BY seq`,
  // The transaction locks the whole file, so no further lock is needed.
  keepBlobs: `
    SELECT b.hash, b.size FROM json_each(@hashes) w CROSS JOIN skein_blobs b ON b.hash = w.value`,
  insertConversationRecord: `
    INSERT INTO skein_conversations (
      id, kind, title, title_folded, model, label, channel, directory, project, task, owner, parent_id,
      parent_message, prompt_policy, prompt_hash, tool_results, metadata, tags, active_branch, tokens_used, cost,
      created_at, updated_at, expires_at, ttl_ms, renew_ms, trashed_at)
    VALUES (
      @id, @kind, @title, @title_folded, @model, @label, @channel, @directory, @project, @task, @owner, @parent_id,
      @parent_message, @prompt_policy, @prompt_hash, @tool_results, @metadata, @tags, @active_branch, @tokens_used,
      @cost, @created_at, @updated_at, @expires_at, @ttl_ms, @renew_ms, @trashed_at)
    ON CONFLICT (id) DO NOTHING
    RETURNING c AS conv`,
  raiseTotals: `
    UPDATE skein_conversations SET tokens_used = max(tokens_used, @tokens_used), cost = max(cost, @cost),
      updated_at = max(updated_at, @updated_at)
    WHERE c = @conv AND (tokens_used < @tokens_used OR cost < @cost OR updated_at < @updated_at)`,
  insertMessageRecord: `
    INSERT INTO skein_messages (
      id, conv, seq, parent_seq, run, depth, role, at, tokens, path_tokens, turn, step, label, body_hash, body, erased)
    VALUES (
      @id, @conv, @seq, @parent_seq, @run, @depth, @role, @at, @tokens, @path_tokens, @turn, @step, @label,
      unhex(@body_hash), @body, @erased)`,
  insertTombstone: `
    INSERT INTO skein_tombstones (conv, seq, parent_seq, id, at, reason)
    VALUES (@conv, @seq, @parent_seq, @id, @at, @reason)`,
  growByRecords: `
    UPDATE skein_conversations SET
      unindexed_from = CASE WHEN next_seq < @next_seq THEN coalesce(unindexed_from, next_seq) ELSE unindexed_from END,
      next_seq = @next_seq, messages = messages + @added, tokens = tokens + @tokens, version = version + 1
    WHERE c = @conv`,
  turnsByKeys: `
    SELECT ${turnColumns} FROM skein_turns
    WHERE conv = @conv AND key IN (SELECT value FROM json_each(@keys))`,
  insertTurnRecord: insertTurn,
  putTurnRecord: `${insertTurn}
    ON CONFLICT (conv, key) DO UPDATE SET
      branch = excluded.branch, first = excluded.first, last = excluded.last, last_step = excluded.last_step,
      status = excluded.status, model = excluded.model, prompt_hash = excluded.prompt_hash, usage = excluded.usage,
      holder = excluded.holder, lease_until = excluded.lease_until, started_at = excluded.started_at,
      ended_at = excluded.ended_at`,
  putSummaryRecord: `
    INSERT INTO skein_summaries (
      conv, last_seq, first_seq, last_id, first_id, model, tokens, text, checksum, created_at)
    VALUES (@conv, @last_seq, @first_seq, @last_id, @first_id, @model, @tokens, @text, @checksum, @created_at)
    ON CONFLICT (conv, last_seq, first_seq) DO UPDATE SET
      model = excluded.model, tokens = excluded.tokens, text = excluded.text, checksum = excluded.checksum,
      holder = NULL, lease_until = NULL, created_at = excluded.created_at`,
  erasedBetween: `
    SELECT erased FROM skein_messages WHERE conv = @conv AND seq BETWEEN @lo AND @hi AND erased IS NOT NULL`,
  eventLike: `
    SELECT n FROM skein_events WHERE conv = @conv AND type = @type AND at = @at AND data = @data LIMIT 1`,
  putBranchRecord: `
    INSERT INTO skein_branches (
      conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, key, former_key, trashed_key, title,
      created_at, updated_at)
    VALUES (
      @conv, @name, @head_seq, @head_id, @head_run, @head_depth, @head_path_tokens, @key, @former_key, @trashed_key,
      @title, @created_at, @updated_at)
    ON CONFLICT (conv, name) DO UPDATE SET
      head_seq = excluded.head_seq, head_id = excluded.head_id, head_run = excluded.head_run,
      head_depth = excluded.head_depth, head_path_tokens = excluded.head_path_tokens, key = excluded.key,
      former_key = excluded.former_key, trashed_key = excluded.trashed_key, title = excluded.title,
      created_at = excluded.created_at, updated_at = excluded.updated_at`,
} satisfies Partial<Queries>
