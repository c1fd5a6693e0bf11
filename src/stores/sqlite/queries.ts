import type { Queries } from '../query.ts'
import type { ListFilter } from '../statements.ts'

/** All the SQL the SQLite store runs, and nothing else. Recursive walks say CROSS JOIN, which fixes
 *  the order: left to itself the planner scans the whole conversation at each step (a thousand times
 *  slower at 5,000 messages). */

const conversationColumns = `
  c.c AS conv, c.id, c.kind, c.title, c.model, c.label, c.channel, c.directory, c.project, c.task, c.owner,
  c.parent_id, c.parent_message, c.prompt_policy, c.prompt_hash,
  (SELECT p.text FROM skein_prompts p WHERE p.hash = c.prompt_hash) AS prompt_text,
  c.tool_results, c.metadata, c.active_branch, c.next_seq, c.next_event, c.messages, c.tokens,
  c.tokens_used, c.cost, c.version, c.created_at, c.updated_at, c.expires_at, c.ttl_ms, c.trashed_at,
  c.purging,
  (SELECT json_group_array(t.tag) FROM (SELECT tag FROM skein_tags WHERE conv = c.c ORDER BY tag) t) AS tags`

const conversationById = `SELECT ${conversationColumns} FROM skein_conversations c WHERE c.id = @id`

const branchColumns = `
  b.name, b.head_seq, b.head_id, b.head_run, b.head_depth, b.head_path_tokens, b.key, b.former_key, b.trashed_key, b.title,
  b.created_at, b.updated_at`

const messageColumns = `
  m.id, m.seq, m.parent_seq, m.depth, m.role, m.at, m.tokens, m.path_tokens, m.turn, m.step, m.label, m.body,
  m.erased`

/** A message by itself, with the ids around it. */
const looseColumns = `${messageColumns},
  (SELECT c.id FROM skein_conversations c WHERE c.c = m.conv) AS conversation_id,
  (SELECT p.id FROM skein_messages p WHERE p.conv = m.conv AND p.seq = m.parent_seq) AS parent_id`

const turnColumns = `
  key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until, started_at,
  ended_at`

const summaryColumns = `
  last_seq, first_seq, last_id, first_id, model, tokens, text, checksum, holder, lease_until, created_at`

const filterSql: Record<ListFilter, string> = {
  channel: `c.channel = @channel`,
  no_channel: `c.channel IS NULL`,
  directory: `c.directory = @directory`,
  no_directory: `c.directory IS NULL`,
  project: `c.project = @project`,
  no_project: `c.project IS NULL`,
  task: `c.task = @task`,
  no_task: `c.task IS NULL`,
  kind: `c.kind = @kind`,
  key_prefix: `c.c IN (SELECT conv FROM skein_branches WHERE key >= @key_from AND key < @key_to)`,
  tag: `EXISTS (SELECT 1 FROM skein_tags t WHERE t.conv = c.c AND t.tag = @tag)`,
  title: `instr(c.title_folded, @title) > 0`,
  metadata: `NOT EXISTS (
    SELECT 1 FROM json_each(@metadata) w WHERE NOT EXISTS (
      SELECT 1 FROM skein_metadata d
      WHERE d.conv = c.c AND d.key = w.value ->> 'key' AND d.value = w.value ->> 'value'))`,
  parent: `c.parent_id = @parent`,
  updated_from: `c.updated_at >= @updated_from`,
  updated_before: `c.updated_at < @updated_before`,
  after: `(c.updated_at, c.id) < (@after_time, @after_id)`,
  trashed: `c.trashed_at IS NOT NULL AND c.purging = 0`,
  living: `c.trashed_at IS NULL`,
}

function where(filters: readonly ListFilter[]): string {
  return filters.map(filter => filterSql[filter]).join(' AND ')
}

/** From the newest run of a path to its oldest. */
const runsOfPath = `
  r(lo, hi) AS (
    SELECT run, seq FROM skein_messages WHERE conv = @conv AND seq = @seq
    UNION ALL
    SELECT p.run, p.seq FROM r
    CROSS JOIN skein_messages f ON f.conv = @conv AND f.seq = r.lo
    CROSS JOIN skein_messages p ON p.conv = @conv AND p.seq = f.parent_seq
  )`

const listMessages = (order: 'ASC' | 'DESC') => `
  SELECT ${looseColumns} FROM skein_messages m
  WHERE m.conv = @conv AND m.seq > @above AND m.seq < @below
    AND (@roles IS NULL OR m.role IN (SELECT value FROM json_each(@roles)))
    AND (@label IS NULL OR m.label = @label)
  ORDER BY m.seq ${order} LIMIT @limit OFFSET @offset`

export const queries: Queries = {
  conversationById,
  // The transaction holds the whole file: there is nothing more to lock.
  lockConversation: conversationById,
  versionById: `SELECT version FROM skein_conversations WHERE id = @id`,
  insertConversation: `
    INSERT INTO skein_conversations (
      id, kind, title, title_folded, model, label, channel, directory, project, task, owner, parent_id,
      parent_message, prompt_policy, prompt_hash, tool_results, metadata, active_branch, created_at,
      updated_at, expires_at, ttl_ms)
    VALUES (
      @id, @kind, @title, @title_folded, @model, @label, @channel, @directory, @project, @task, @owner,
      @parent_id, @parent_message, @prompt_policy, @prompt_hash, @tool_results, @metadata, 'main', @now, @now,
      @expires_at, @ttl_ms)
    ON CONFLICT (id) DO NOTHING
    RETURNING c AS conv`,
  updateConversation: `
    UPDATE skein_conversations SET
      title = @title, title_folded = @title_folded, model = @model, label = @label, channel = @channel,
      directory = @directory, project = @project, task = @task, owner = @owner,
      prompt_policy = @prompt_policy, prompt_hash = @prompt_hash, tool_results = @tool_results,
      metadata = @metadata, expires_at = @expires_at, ttl_ms = @ttl_ms,
      updated_at = max(updated_at, @now), version = version + 1
    WHERE c = @conv`,
  bumpVersion: `UPDATE skein_conversations SET version = version + 1 WHERE c = @conv`,
  setActiveBranch: `UPDATE skein_conversations SET active_branch = @name, version = version + 1 WHERE c = @conv`,
  clearPrompt: `UPDATE skein_conversations SET prompt_hash = NULL WHERE c = @conv`,
  putPrompt: `INSERT INTO skein_prompts (hash, text) VALUES (@hash, @text) ON CONFLICT DO NOTHING`,
  clearTags: `DELETE FROM skein_tags WHERE conv = @conv`,
  putTag: `INSERT INTO skein_tags (conv, tag) VALUES (@conv, @tag) ON CONFLICT DO NOTHING`,
  clearMetadata: `DELETE FROM skein_metadata WHERE conv = @conv`,
  putMetadata: `INSERT INTO skein_metadata (conv, key, value) VALUES (@conv, @key, @value)`,
  conversationByKey: `
    SELECT c.id, b.name, c.expires_at FROM skein_branches b JOIN skein_conversations c ON c.c = b.conv
    WHERE b.key = @key`,
  conversationByTask: `
    SELECT id FROM skein_conversations
    WHERE task = @task AND trashed_at IS NULL AND (expires_at IS NULL OR expires_at > @now)
    ORDER BY updated_at DESC, id DESC LIMIT 1`,
  conversationByLink: `
    SELECT c.id, l.branch AS name FROM skein_agent_links l JOIN skein_conversations c ON c.c = l.conv
    WHERE l.agent = @agent AND l.foreign_id = @foreign_id AND c.trashed_at IS NULL
    ORDER BY l.updated_at DESC, c.id LIMIT 1`,
  conversationsByPrefix: `SELECT id FROM skein_conversations WHERE id >= @lo AND id < @hi ORDER BY id LIMIT 11`,
  listConversations: filters => `
    SELECT ${conversationColumns},
      b.name AS branch_name, b.head_seq AS branch_head_seq, b.head_id AS branch_head_id,
      b.head_run AS branch_head_run, b.head_depth AS branch_head_depth,
      b.head_path_tokens AS branch_head_path_tokens, b.key AS branch_key, b.former_key AS branch_former_key, b.trashed_key AS branch_trashed_key,
      b.title AS branch_title, b.created_at AS branch_created_at, b.updated_at AS branch_updated_at
    FROM skein_conversations c LEFT JOIN skein_branches b ON b.conv = c.c AND b.name = c.active_branch
    WHERE ${where(filters)}
    ORDER BY c.updated_at DESC, c.id DESC LIMIT @limit`,
  countConversations: filters => `
    SELECT count(*) AS count FROM skein_conversations c WHERE ${where(filters)}`,

  branch: `SELECT ${branchColumns} FROM skein_branches b WHERE b.conv = @conv AND b.name = @name`,
  branches: `
    SELECT ${branchColumns} FROM skein_branches b WHERE b.conv = @conv
    ORDER BY b.created_at, b.name <> 'main', b.name`,
  insertBranch: `
    INSERT INTO skein_branches (
      conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, key, title, created_at, updated_at)
    VALUES (
      @conv, @name, @head_seq, @head_id, @head_run, @head_depth, @head_path_tokens, @key, @title, @now, @now)`,
  setHead: `
    UPDATE skein_branches SET head_seq = @head_seq, head_id = @head_id, head_run = @head_run,
      head_depth = @head_depth, head_path_tokens = @head_path_tokens, updated_at = max(updated_at, @now)
    WHERE conv = @conv AND name = @name`,
  renameBranch: `UPDATE skein_branches SET name = @to WHERE conv = @conv AND name = @name`,
  renameInLinks: `UPDATE skein_agent_links SET branch = @to WHERE conv = @conv AND branch = @name`,
  renameInTurns: `UPDATE skein_turns SET branch = @to WHERE conv = @conv AND branch = @name`,
  deleteBranch: `DELETE FROM skein_branches WHERE conv = @conv AND name = @name`,
  setBranchKey: `
    UPDATE skein_branches SET key = @key, former_key = @former_key, trashed_key = @trashed_key
    WHERE conv = @conv AND name = @name`,
  links: `
    SELECT branch, agent, directory, foreign_id, seen_id, updated_at FROM skein_agent_links
    WHERE conv = @conv AND branch = @name ORDER BY agent, directory`,
  putLink: `
    INSERT INTO skein_agent_links (conv, branch, agent, directory, foreign_id, seen_seq, seen_id, updated_at)
    VALUES (@conv, @name, @agent, @directory, @foreign_id, @seen_seq, @seen_id, @now)
    ON CONFLICT (conv, branch, agent, directory) DO UPDATE SET
      foreign_id = excluded.foreign_id, seen_seq = excluded.seen_seq, seen_id = excluded.seen_id,
      updated_at = excluded.updated_at`,
  deleteLink: `
    DELETE FROM skein_agent_links
    WHERE conv = @conv AND branch = @name AND agent = @agent AND directory = @directory`,
  deleteLinks: `DELETE FROM skein_agent_links WHERE conv = @conv AND branch = @name`,
  clearSeen: `
    UPDATE skein_agent_links SET seen_seq = NULL, seen_id = NULL
    WHERE conv = @conv AND seen_seq BETWEEN @lo AND @hi`,

  lockBranch: `
    SELECT c.c AS conv, c.next_seq, c.trashed_at, ${branchColumns}
    FROM skein_conversations c JOIN skein_branches b ON b.conv = c.c AND b.name = @name WHERE c.id = @id`,
  insertMessage: `
    INSERT INTO skein_messages (
      id, conv, seq, parent_seq, run, depth, role, at, tokens, path_tokens, turn, step, label, body_hash, body)
    VALUES (
      @id, @conv, @seq, @parent_seq, @run, @depth, @role, @at, @tokens, @path_tokens, @turn, @step, @label,
      @body_hash, @body)
    ON CONFLICT (id) DO NOTHING
    RETURNING seq`,
  grow: `
    UPDATE skein_conversations SET
      next_seq = @next_seq, messages = messages + @added, tokens = tokens + @tokens,
      tokens_used = tokens_used + @tokens_used, cost = cost + @cost,
      title_folded = CASE WHEN title IS NULL THEN @title_folded ELSE title_folded END,
      title = coalesce(title, @title),
      updated_at = max(updated_at, @now),
      expires_at = CASE
        WHEN ttl_ms IS NOT NULL THEN @now + ttl_ms
        WHEN expires_at <= @now THEN @now + (expires_at - created_at)
        ELSE expires_at END,
      version = version + 1
    WHERE c = @conv`,
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
  path: `
    WITH RECURSIVE ${runsOfPath}
    SELECT ${messageColumns} FROM r CROSS JOIN skein_messages m ON m.conv = @conv AND m.seq BETWEEN r.lo AND r.hi`,
  // In steps inside a run, so that a long run is not read to its beginning. What stands before the
  // budget's edge (base) or above the depth (floor) is left out.
  tail: `
    WITH RECURSIVE w(lo, hi, base, floor) AS (
      SELECT max(h.run, h.seq - min(@messages, 128) + 1), h.seq, h.path_tokens - @tokens, h.depth - @messages
      FROM skein_messages h WHERE h.conv = @conv AND h.seq = @seq
      UNION ALL
      SELECT max(p.run, p.seq - min(@messages, 128) + 1), p.seq, w.base, w.floor FROM w
      CROSS JOIN skein_messages f ON f.conv = @conv AND f.seq = w.lo
        AND f.path_tokens - f.tokens >= w.base AND f.depth - 1 > w.floor
      CROSS JOIN skein_messages p ON p.conv = @conv AND p.seq = f.parent_seq
    )
    SELECT ${messageColumns} FROM w CROSS JOIN skein_messages m
      ON m.conv = @conv AND m.seq BETWEEN w.lo AND w.hi
      AND m.path_tokens - m.tokens >= w.base AND m.depth > w.floor`,
  pathRuns: `WITH RECURSIVE ${runsOfPath} SELECT lo, hi FROM r`,
  messagesBetween: `
    SELECT ${looseColumns} FROM skein_messages m
    WHERE m.conv = @conv AND m.seq BETWEEN @lo AND @hi ORDER BY m.seq LIMIT @limit`,
  idsBetween: `
    SELECT seq, id FROM skein_messages WHERE conv = @conv AND seq BETWEEN @lo AND @hi ORDER BY seq`,
  listMessages: listMessages('ASC'),
  listMessagesDown: listMessages('DESC'),
  messagesByPrefix: `SELECT id FROM skein_messages WHERE id >= @lo AND id < @hi ORDER BY id LIMIT 11`,
  setLabel: `UPDATE skein_messages SET label = @label WHERE conv = @conv AND seq = @seq`,
  runStarts: `
    SELECT seq, parent_seq FROM skein_messages INDEXED BY skein_messages_fork
    WHERE conv = @conv AND run = seq ORDER BY seq`,
  stretchEnds: `
    SELECT f.seq AS lo, f.id AS first_id, f.at AS first_at, f.path_tokens - f.tokens AS before_tokens,
      l.seq AS last_seq, l.id AS last_id, l.at AS last_at, l.path_tokens
    FROM json_each(@stretches) w
    CROSS JOIN skein_messages f ON f.conv = @conv AND f.seq = w.value ->> 'lo'
    CROSS JOIN skein_messages l ON l.conv = @conv AND l.seq = (
      SELECT max(x.seq) FROM skein_messages x WHERE x.conv = @conv AND x.seq <= w.value ->> 'hi')
    ORDER BY f.seq`,
  children: `
    SELECT seq FROM skein_messages WHERE conv = @conv AND seq = @seq + 1 AND parent_seq = @seq
    UNION ALL
    SELECT seq FROM skein_messages INDEXED BY skein_messages_fork
    WHERE conv = @conv AND parent_seq = @seq AND run = seq AND seq <> @seq + 1`,

  putBlob: `
    INSERT INTO skein_blobs (hash, size, data) VALUES (@hash, @size, @data) ON CONFLICT (hash) DO NOTHING`,
  putBlobRef: `INSERT INTO skein_blob_refs (conv, seq, hash) VALUES (@conv, @seq, @hash)`,
  blobs: `
    SELECT hash, size, substr(data, 1, @most) AS data FROM json_each(@hashes) w
    CROSS JOIN skein_blobs ON hash = w.value`,
  deleteBlobRefs: `DELETE FROM skein_blob_refs WHERE conv = @conv AND seq BETWEEN @lo AND @hi`,
  blobsBetween: `
    SELECT DISTINCT hash FROM skein_blob_refs WHERE conv = @conv AND seq BETWEEN @lo AND @hi ORDER BY hash`,
  deleteLooseBlobs: `
    DELETE FROM skein_blobs WHERE hash IN (SELECT value FROM json_each(@hashes))
      AND NOT EXISTS (SELECT 1 FROM skein_blob_refs r WHERE r.hash = skein_blobs.hash)`,

  turn: `SELECT ${turnColumns} FROM skein_turns WHERE conv = @conv AND key = @key`,
  turns: `
    SELECT ${turnColumns} FROM skein_turns
    WHERE conv = @conv AND (@status IS NULL OR status = @status) ORDER BY first`,
  openTurnOn: `
    SELECT ${turnColumns} FROM skein_turns WHERE conv = @conv AND branch = @name AND status = 'open'`,
  stepMessages: `
    SELECT seq, id, role, body_hash FROM skein_messages
    WHERE conv = @conv AND seq BETWEEN @first AND @last AND turn = @first AND step = @step ORDER BY seq`,
  insertTurn: `
    INSERT INTO skein_turns (
      conv, key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until,
      started_at, ended_at)
    VALUES (
      @conv, @key, @branch, @first, @last, @last_step, @status, @model, @prompt_hash, @usage, @holder,
      @lease_until, @now, @ended_at)`,
  updateTurn: `
    UPDATE skein_turns SET last = @last, last_step = @last_step, status = @status, model = @model,
      prompt_hash = @prompt_hash, usage = @usage, lease_until = @lease_until, ended_at = @ended_at
    WHERE conv = @conv AND key = @key`,
  renewTurn: `UPDATE skein_turns SET lease_until = @lease_until WHERE conv = @conv AND key = @key`,
  drafts: `SELECT n, type, text FROM skein_drafts WHERE conv = @conv AND turn = @turn ORDER BY n`,
  lastDraft: `
    SELECT n FROM skein_drafts WHERE conv = @conv AND turn = @turn ORDER BY n DESC LIMIT 1`,
  insertDraft: `
    INSERT INTO skein_drafts (conv, turn, n, type, text) VALUES (@conv, @turn, @n, @type, @text)`,
  deleteDrafts: `DELETE FROM skein_drafts WHERE conv = @conv AND turn = @turn`,

  summary: `
    SELECT ${summaryColumns} FROM skein_summaries
    WHERE conv = @conv AND last_seq = @last_seq AND first_seq = @first_seq`,
  summaries: `
    SELECT ${summaryColumns} FROM skein_summaries WHERE conv = @conv ORDER BY last_seq, first_seq`,
  claimSummary: `
    INSERT INTO skein_summaries (conv, last_seq, first_seq, last_id, first_id, holder, lease_until, created_at)
    VALUES (@conv, @last_seq, @first_seq, @last_id, @first_id, @holder, @lease_until, @now)
    ON CONFLICT (conv, last_seq, first_seq) DO UPDATE SET
      holder = excluded.holder, lease_until = excluded.lease_until`,
  putSummary: `
    UPDATE skein_summaries SET model = @model, tokens = @tokens, text = @text, checksum = @checksum,
      holder = NULL, lease_until = NULL, created_at = @now
    WHERE conv = @conv AND last_seq = @last_seq AND first_seq = @first_seq`,
  deleteSummaries: `
    DELETE FROM skein_summaries WHERE conv = @conv AND last_seq BETWEEN @lo AND @hi`,
  deleteSummary: `
    DELETE FROM skein_summaries
    WHERE conv = @conv AND last_seq = @last_seq AND first_seq = @first_seq`,
  insertEvent: `INSERT INTO skein_events (conv, n, type, at, data) VALUES (@conv, @n, @type, @at, @data)`,
  setNextEvent: `
    UPDATE skein_conversations SET next_event = @next_event, version = version + 1 WHERE c = @conv`,
  events: `
    SELECT n, type, at, data FROM skein_events
    WHERE conv = @conv AND n > @after AND (@types IS NULL OR type IN (SELECT value FROM json_each(@types)))
    ORDER BY n LIMIT @limit`,

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
    UPDATE skein_conversations SET trashed_at = @trashed_at, trash_sweeps = 0, version = version + 1
    WHERE c = @conv`,
  beginPurge: `UPDATE skein_conversations SET purging = 1 WHERE c = @conv`,
  // Named one by one: a borrowed handle may have its foreign keys switched off.
  deleteConversation: [
    ...[
      'tags',
      'metadata',
      'branches',
      'agent_links',
      'messages',
      'tombstones',
      'turns',
      'drafts',
      'blob_refs',
      'summaries',
      'events',
    ].map(table => `DELETE FROM skein_${table} WHERE conv = @conv`),
    `DELETE FROM skein_conversations WHERE c = @conv`,
  ],

  state: `SELECT value FROM skein_state WHERE name = @name`,
  putState: `
    INSERT INTO skein_state (name, value) VALUES (@name, @value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  expiredTasks: `
    SELECT id FROM skein_conversations
    WHERE task IS NOT NULL AND expires_at IS NOT NULL AND trashed_at IS NULL AND expires_at <= @now
      AND NOT EXISTS (
        SELECT 1 FROM skein_turns t
        WHERE t.conv = skein_conversations.c AND t.status = 'open' AND t.lease_until > @now)
    ORDER BY expires_at LIMIT @limit`,
  countSweep: `
    UPDATE skein_conversations SET trash_sweeps = trash_sweeps + 1
    WHERE trashed_at IS NOT NULL AND trashed_at <= @now`,
  purgeable: `
    SELECT id FROM skein_conversations
    WHERE trashed_at IS NOT NULL AND trashed_at <= @before AND trash_sweeps >= @sweeps
    ORDER BY trashed_at, id LIMIT @limit`,

  unindexed: `
    SELECT c AS conv, id, indexed_seq, next_seq
    FROM skein_conversations INDEXED BY skein_conversations_unindexed
    WHERE indexed_seq < next_seq ORDER BY c LIMIT @limit`,
  setIndexed: `UPDATE skein_conversations SET indexed_seq = @indexed_seq WHERE c = @conv`,
  // Times beyond the year 2248 share one millisecond here, so that 63 bits are enough.
  putSearchEntry: [
    `
    INSERT INTO skein_search_map (r, n)
    SELECT coalesce(
      (SELECT max(x.r) + 1 FROM skein_search_map x
       WHERE x.r >= min(m.at, 8796093022206) << 20 AND x.r < (min(m.at, 8796093022206) + 1) << 20),
      min(m.at, 8796093022206) << 20), m.n
    FROM skein_messages m WHERE m.conv = @conv AND m.seq = @seq`,
    `
    INSERT INTO skein_search (rowid, tokens)
    SELECT s.r, @tokens FROM skein_messages m JOIN skein_search_map s ON s.n = m.n
    WHERE m.conv = @conv AND m.seq = @seq`,
  ],
  deleteSearchEntries: [
    `
    DELETE FROM skein_search WHERE rowid IN (
      SELECT s.r FROM skein_messages m CROSS JOIN skein_search_map s ON s.n = m.n
      WHERE m.conv = @conv AND m.seq BETWEEN @lo AND @hi)`,
    `
    DELETE FROM skein_search_map WHERE n IN (
      SELECT m.n FROM skein_messages m WHERE m.conv = @conv AND m.seq BETWEEN @lo AND @hi)`,
  ],
  clearSearch: [
    `
    INSERT INTO skein_search (skein_search) VALUES ('delete-all')`,
    `
    DELETE FROM skein_search_map`,
  ],
  resetIndexed: `UPDATE skein_conversations SET indexed_seq = 0 WHERE indexed_seq > 0`,
  candidates: `
    SELECT ${messageColumns}, m.conv, c.id AS conversation_id, c.title, c.kind, c.directory, c.channel,
      (SELECT p.id FROM skein_messages p WHERE p.conv = m.conv AND p.seq = m.parent_seq) AS parent_id
    FROM skein_search CROSS JOIN skein_search_map s ON s.r = skein_search.rowid
    CROSS JOIN skein_messages m ON m.n = s.n
    CROSS JOIN skein_conversations c ON c.c = m.conv
    WHERE skein_search MATCH @match
      AND skein_search.rowid >= min(@from, 8796093022206) << 20
      AND skein_search.rowid < (min(@upto, 8796093022206) + 1) << 20
      AND m.at >= @from AND m.at <= @upto
      AND c.trashed_at IS NULL
      AND (@directory IS NULL OR c.directory = @directory) AND (@kind IS NULL OR c.kind = @kind)
    ORDER BY skein_search.rowid DESC LIMIT @limit`,
  branchesHolding: `
    SELECT c.c AS conv, w.value ->> 'seq' AS seq, b.name, b.name = c.active_branch AS active
    FROM json_each(@places) w
    CROSS JOIN skein_conversations c ON c.c = w.value ->> 'conv'
    CROSS JOIN skein_branches b ON b.conv = c.c AND b.head_seq >= w.value ->> 'seq'
    WHERE EXISTS (
      WITH RECURSIVE r(lo, hi) AS (
        SELECT b.head_run, b.head_seq
        UNION ALL
        SELECT p.run, p.seq FROM r
        CROSS JOIN skein_messages f ON f.conv = b.conv AND f.seq = r.lo AND r.lo > w.value ->> 'seq'
        CROSS JOIN skein_messages p ON p.conv = b.conv AND p.seq = f.parent_seq
      )
      SELECT 1 FROM r WHERE w.value ->> 'seq' BETWEEN r.lo AND r.hi)
    ORDER BY c.c, seq, active DESC, b.name`,
}
