import type { Queries } from '../../engine/statements.ts'
import { branchColumns } from './columns.ts'

export const shownColumns = `
  c.id, c.kind, c.title, c.model, c.label, c.channel, c.directory, c.project, c.task, c.owner,
  c.parent_id, c.parent_message, c.prompt_policy, c.prompt_hash,
  CASE WHEN c.prompt_hash IS NOT NULL
    THEN (SELECT p.text FROM skein_prompts p WHERE p.hash = c.prompt_hash) END AS prompt_text,
  c.tool_results, c.metadata, c.active_branch, c.messages, c.tokens, c.tokens_used, c.cost, c.version,
  c.created_at, c.updated_at, c.expires_at, c.ttl_ms, c.trashed_at, c.tags`

export const listedBranchColumns = `
  b.head_id AS branch_head_id, b.key AS branch_key, b.former_key AS branch_former_key, b.title AS branch_title,
  b.created_at AS branch_created_at, b.updated_at AS branch_updated_at`

const conversationById = `
  SELECT c.c AS conv, ${shownColumns}, c.next_seq, c.next_event, coalesce(c.unindexed_from, c.next_seq) AS indexed_seq, c.renew_ms, c.purging
  FROM skein_conversations c WHERE c.id = @id`

export const conversationQueries = {
  conversationById,
  // The transaction locks the whole file, so no further lock is needed.
  lockConversation: `
    SELECT c AS conv, id, title, active_branch, next_seq, next_event, coalesce(unindexed_from, next_seq) AS indexed_seq, trashed_at, purging
    FROM skein_conversations WHERE id = @id`,
  versionById: `SELECT version FROM skein_conversations WHERE id = @id`,
  convOf: `SELECT c AS conv FROM skein_conversations WHERE id = @id`,
  // The second statement has an effect only if the first one has inserted a row.
  insertConversation: [
    `INSERT INTO skein_conversations (
      id, kind, title, title_folded, model, label, channel, directory, project, task, owner, parent_id,
      parent_message, prompt_policy, prompt_hash, tool_results, metadata, active_branch, created_at,
      updated_at, expires_at, ttl_ms, renew_ms, tags)
    SELECT
      @id, @kind, @title, @title_folded, @model, @label, @channel, @directory, @project, @task, @owner,
      @parent_id, @parent_message, @prompt_policy, @prompt_hash, @tool_results, @metadata, 'main', @now, @now,
      @expires_at, @ttl_ms, @renew_ms, @tags
    WHERE NOT EXISTS (
      SELECT 1 FROM skein_branches b JOIN skein_conversations c ON c.c = b.conv WHERE b.key = @key)
    ON CONFLICT (id) DO NOTHING`,
    `INSERT INTO skein_branches (
      conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, key, title, created_at, updated_at)
    SELECT
      c, 'main', @head_seq, @head_id, @head_run, @head_depth, @head_path_tokens, @key, NULL, @now, @now
    FROM skein_conversations WHERE id = @id AND changes() > 0
    RETURNING conv`,
  ],
  updateConversation: `
    UPDATE skein_conversations SET
      title = @title, title_folded = @title_folded, model = @model, label = @label, channel = @channel,
      directory = @directory, project = @project, task = @task, owner = @owner,
      prompt_policy = @prompt_policy, prompt_hash = @prompt_hash, tool_results = @tool_results,
      metadata = @metadata, expires_at = @expires_at, ttl_ms = @ttl_ms, renew_ms = @renew_ms,
      tags = @tags,
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
  foundByKey: `
    SELECT ${shownColumns}, ${listedBranchColumns}, b.name AS branch_name
    FROM skein_branches b JOIN skein_conversations c ON c.c = b.conv WHERE b.key = @key`,
  branchInConversation: `
    SELECT ${shownColumns}, ${listedBranchColumns} FROM skein_conversations c
    LEFT JOIN skein_branches b ON b.conv = c.c AND b.name = coalesce(@name, c.active_branch) WHERE c.id = @id`,
  // The transaction locks the whole file, so no further lock is needed.
  lockTask: `SELECT 1 WHERE false`,
  conversationByTask: `
    SELECT id FROM skein_conversations
    WHERE task = @task AND project IS @project AND trashed_at IS NULL AND (expires_at IS NULL OR expires_at > @now)
    ORDER BY updated_at DESC, id DESC LIMIT 1`,
  conversationByLink: `
    SELECT c.id, l.branch AS name FROM skein_agent_links l JOIN skein_conversations c ON c.c = l.conv
    WHERE l.agent = @agent AND l.foreign_id = @foreign_id AND c.trashed_at IS NULL
    ORDER BY l.updated_at DESC, c.id LIMIT 1`,
  conversationsByPrefix: `SELECT id FROM skein_conversations WHERE id >= @lo AND id < @hi ORDER BY id LIMIT 11`,
  branch: `SELECT ${branchColumns} FROM skein_branches b WHERE b.conv = @conv AND b.name = @name`,
  branchOf: `
    SELECT ${branchColumns} FROM skein_conversations c
    LEFT JOIN skein_branches b ON b.conv = c.c AND b.name = @name WHERE c.id = @id`,
  branches: `
    SELECT ${branchColumns} FROM skein_branches b WHERE b.conv = @conv
    ORDER BY b.created_at, b.name <> 'main', b.name`,
  listBranches: `
    SELECT ${branchColumns} FROM skein_branches b
    WHERE b.conv = @conv AND (b.created_at, b.name <> 'main', b.name) > (@created_at, @not_main, @name)
    ORDER BY b.created_at, b.name <> 'main', b.name LIMIT +@limit`,
  insertBranch: `
    INSERT INTO skein_branches (
      conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, key, title, created_at, updated_at)
    VALUES (
      @conv, @name, @head_seq, @head_id, @head_run, @head_depth, @head_path_tokens, @key, @title, @now, @now)
    ON CONFLICT (conv, name) DO NOTHING`,
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
  listLinks: `
    SELECT branch, agent, directory, foreign_id, seen_id, updated_at FROM skein_agent_links
    WHERE conv = @conv AND branch = @name AND (agent, directory) > (@agent, @directory)
    ORDER BY agent, directory LIMIT +@limit`,
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
  // CROSS JOIN makes SQLite use the indexes of the ids, in this order.
  insertFork: `
    INSERT INTO skein_branches (
      conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, title, created_at, updated_at)
    SELECT m.conv, @name, m.seq, m.id, m.run, m.depth, m.path_tokens, @title, @now, @now
    FROM skein_messages m CROSS JOIN skein_conversations c ON c.c = m.conv
    WHERE m.id = @at AND c.id = @id AND c.trashed_at IS NULL
    ON CONFLICT (conv, name) DO NOTHING`,
  bumpVersionOf: `UPDATE skein_conversations SET version = version + 1 WHERE id = @id`,
} satisfies Partial<Queries>
