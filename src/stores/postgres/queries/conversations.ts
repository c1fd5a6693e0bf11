import type { Queries } from '../../engine/statements.ts'
import { branchColumns, notTrashed } from './columns.ts'

export const shownColumns = `
  c.id, c.kind, c.title, c.model, c.label, c.channel, c.directory, c.project, c.task, c.owner,
  c.parent_id, c.parent_message, c.prompt_policy, c.prompt_hash,
  CASE WHEN c.prompt_hash IS NOT NULL THEN (
    SELECT p.text FROM skein.prompts p WHERE p.tenant = @tenant::text AND p.hash = c.prompt_hash) END AS prompt_text,
  c.tool_results, c.metadata, c.active_branch, c.messages, c.tokens, c.tokens_used, c.cost, c.version,
  c.created_at, c.updated_at, c.expires_at, c.ttl_ms, c.trashed_at, c.tags`

export const listedBranchColumns = `
  b.head_id AS branch_head_id, b.key AS branch_key, b.former_key AS branch_former_key, b.title AS branch_title,
  b.created_at AS branch_created_at, b.updated_at AS branch_updated_at`

const conversationById = `
  SELECT c.id AS conv, ${shownColumns}, c.next_seq, c.next_event, c.indexed_seq, c.renew_ms, c.purging
  FROM skein.conversations c WHERE c.tenant = @tenant::text AND c.id = @id::uuid`

/** Takes the lock and nothing else. A second statement reads under the lock: it then sees what the previous
 *  writer wrote, also in other tables. A locking read would see an older state of those. A transaction with a
 *  lock also waits for synchronous standbys, so a replayed step is confirmed as a new one is. */
export const lock = `
  SELECT FROM skein.conversations WHERE tenant = @tenant::text AND id = @id::uuid FOR NO KEY UPDATE`

export const bytes = (text: string) => `convert_to(${text}, 'UTF8')`
export const pair = (key: string, value: string) => `sha256(${bytes(key)} || '\\x00' || ${bytes(value)})`

/** Conversations, their branches, and the ways to find both. */
export const conversationQueries = {
  conversationById,
  lockConversation: [
    lock,
    `SELECT id AS conv, id, title, active_branch, next_seq, next_event, indexed_seq, trashed_at, purging
    FROM skein.conversations WHERE tenant = @tenant::text AND id = @id::uuid`,
  ],
  versionById: `SELECT version FROM skein.conversations WHERE tenant = @tenant::text AND id = @id::uuid`,
  convOf: `SELECT id AS conv FROM skein.conversations WHERE tenant = @tenant::text AND id = @id::uuid`,
  // One statement: the branch is inserted only if the conversation is. The unique index decides between
  // transactions that insert the same key at the same time.
  insertConversation: `
    WITH inserted AS (
      INSERT INTO skein.conversations (
        tenant, id, kind, title, title_folded, model, label, channel, directory, project, task, owner,
        parent_id, parent_message, prompt_policy, prompt_hash, tool_results, metadata, active_branch,
        created_at, updated_at, expires_at, ttl_ms, renew_ms, tags)
      SELECT
        @tenant::text, @id::uuid, @kind::text, @title::text, @title_folded::text, @model::text, @label::text,
        @channel::text, @directory::text, @project::text, @task::text, @owner::text, @parent_id::uuid,
        @parent_message::text, @prompt_policy::text, @prompt_hash::text, @tool_results::text, @metadata::text,
        'main', @now::bigint, @now::bigint, @expires_at::bigint, @ttl_ms::bigint,
        @renew_ms::bigint, @tags::text
      WHERE NOT EXISTS (
        SELECT FROM skein.branches b
        JOIN LATERAL (
          SELECT FROM skein.conversations x
          WHERE x.tenant = @tenant::text AND x.id = b.conv OFFSET 0) c ON true
        WHERE b.tenant = @tenant::text AND b.key = @key::text)
      ON CONFLICT (tenant, id) DO NOTHING
      RETURNING id)
    INSERT INTO skein.branches (
      tenant, conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, key, title, created_at,
      updated_at)
    SELECT
      @tenant::text, id, 'main', @head_seq::int, @head_id::text, @head_run::int, @head_depth::int,
      @head_path_tokens::bigint, @key::text, NULL, @now::bigint, @now::bigint
    FROM inserted
    RETURNING conv`,
  // Search entries contain the directory. If it changes, they are rebuilt.
  updateConversation: `
    UPDATE skein.conversations SET
      title = @title::text, title_folded = @title_folded::text, model = @model::text, label = @label::text,
      channel = @channel::text, directory = @directory::text, project = @project::text, task = @task::text,
      owner = @owner::text, prompt_policy = @prompt_policy::text, prompt_hash = @prompt_hash::text,
      tool_results = @tool_results::text, metadata = @metadata::text, expires_at = @expires_at::bigint,
      ttl_ms = @ttl_ms::bigint, renew_ms = @renew_ms::bigint, tags = @tags::text,
      indexed_seq = CASE WHEN directory IS DISTINCT FROM @directory::text THEN 0 ELSE indexed_seq END,
      updated_at = greatest(updated_at, @now::bigint), version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`,
  bumpVersion: `
    UPDATE skein.conversations SET version = version + 1 WHERE tenant = @tenant::text AND id = @conv::uuid`,
  setActiveBranch: `
    UPDATE skein.conversations SET active_branch = @name::text, version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`,
  clearPrompt: `
    UPDATE skein.conversations SET prompt_hash = NULL WHERE tenant = @tenant::text AND id = @conv::uuid`,
  // Locks an existing prompt too, so that it cannot be found unused and removed.
  putPrompt: `
    INSERT INTO skein.prompts (tenant, hash, text) VALUES (@tenant::text, @hash::text, @text::text)
    ON CONFLICT (tenant, hash) DO UPDATE SET hash = excluded.hash`,
  clearTags: `DELETE FROM skein.tags WHERE tenant = @tenant::text AND conv = @conv::uuid`,
  putTag: `
    INSERT INTO skein.tags (tenant, conv, tag) VALUES (@tenant::text, @conv::uuid, @tag::text)
    ON CONFLICT DO NOTHING`,
  clearMetadata: `DELETE FROM skein.metadata WHERE tenant = @tenant::text AND conv = @conv::uuid`,
  putMetadata: `
    INSERT INTO skein.metadata (tenant, conv, pair)
    VALUES (@tenant::text, @conv::uuid, ${pair('@key::text', '@value::text')})`,
  conversationByKey: `
    SELECT c.id, b.name, c.expires_at FROM skein.branches b
    JOIN LATERAL (
      SELECT x.id, x.expires_at FROM skein.conversations x
      WHERE x.tenant = @tenant::text AND x.id = b.conv OFFSET 0) c ON true
    WHERE b.tenant = @tenant::text AND b.key = @key::text`,
  foundByKey: `
    SELECT ${shownColumns}, ${listedBranchColumns}, b.name AS branch_name
    FROM skein.branches b JOIN LATERAL (
      SELECT * FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = b.conv OFFSET 0) c ON true
    WHERE b.tenant = @tenant::text AND b.key = @key::text`,
  branchInConversation: `
    SELECT ${shownColumns}, ${listedBranchColumns}
    FROM skein.conversations c LEFT JOIN LATERAL (
      SELECT * FROM skein.branches x
      WHERE x.tenant = @tenant::text AND x.conv = c.id AND x.name = coalesce(@name::text, c.active_branch)
      OFFSET 0) b ON true
    WHERE c.tenant = @tenant::text AND c.id = @id::uuid`,
  // Until the end of the transaction, so it works through any connection pooler. Two tasks with the same hash
  // only wait for each other.
  lockTask: `
    SELECT pg_advisory_xact_lock(hashtextextended(
      json_build_array('skein task', @tenant::text, @project::text, @task::text)::text, 0))`,
  conversationByTask: `
    SELECT c.id FROM (
      SELECT id, project, updated_at, expires_at, trashed_at FROM skein.conversations
      WHERE tenant = @tenant::text AND task = @task::text OFFSET 0) c
    WHERE c.project IS NOT DISTINCT FROM @project::text AND ${notTrashed} AND (c.expires_at IS NULL OR c.expires_at > @now::bigint)
    ORDER BY c.updated_at DESC, c.id DESC LIMIT 1`,
  conversationByLink: `
    SELECT c.id, l.branch AS name FROM skein.agent_links l
    JOIN LATERAL (
      SELECT x.id, x.trashed_at FROM skein.conversations x
      WHERE x.tenant = @tenant::text AND x.id = l.conv OFFSET 0) c ON ${notTrashed}
    WHERE l.tenant = @tenant::text AND l.agent = @agent::text AND l.foreign_id = @foreign_id::text
    ORDER BY l.updated_at DESC, c.id LIMIT 1`,
  // A range of UUIDs for the index. The text decides.
  conversationsByPrefix: `
    SELECT id FROM skein.conversations
    WHERE tenant = @tenant::text
      AND id >= rpad(replace(@lo::text, '-', ''), 32, '0')::uuid
      AND id <= rpad(replace(@lo::text, '-', ''), 32, 'f')::uuid
      AND id::text COLLATE "C" >= @lo::text AND id::text COLLATE "C" < @hi::text
    ORDER BY id LIMIT 11`,

  branch: `
    SELECT ${branchColumns} FROM skein.branches b
    WHERE b.tenant = @tenant::text AND b.conv = @conv::uuid AND b.name = @name::text`,
  branchOf: `
    SELECT ${branchColumns} FROM skein.conversations c LEFT JOIN LATERAL (
      SELECT * FROM skein.branches x
      WHERE x.tenant = @tenant::text AND x.conv = c.id AND x.name = @name::text OFFSET 0) b ON true
    WHERE c.tenant = @tenant::text AND c.id = @id::uuid`,
  branches: `
    SELECT ${branchColumns} FROM skein.branches b WHERE b.tenant = @tenant::text AND b.conv = @conv::uuid
    ORDER BY b.created_at, b.name <> 'main', b.name`,
  listBranches: `
    SELECT ${branchColumns} FROM skein.branches b WHERE b.tenant = @tenant::text AND b.conv = @conv::uuid
      AND (b.created_at, (b.name <> 'main')::int, b.name) > (@created_at::bigint, @not_main::int, @name::text)
    ORDER BY b.created_at, b.name <> 'main', b.name LIMIT @limit::bigint`,
  insertBranch: `
    INSERT INTO skein.branches (
      tenant, conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, key, title, created_at,
      updated_at)
    VALUES (
      @tenant::text, @conv::uuid, @name::text, @head_seq::int, @head_id::text, @head_run::int, @head_depth::int,
      @head_path_tokens::bigint, @key::text, @title::text, @now::bigint, @now::bigint)
    ON CONFLICT (tenant, conv, name) DO NOTHING`,
  setHead: `
    UPDATE skein.branches SET head_seq = @head_seq::int, head_id = @head_id::text, head_run = @head_run::int,
      head_depth = @head_depth::int, head_path_tokens = @head_path_tokens::bigint,
      updated_at = greatest(updated_at, @now::bigint)
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND name = @name::text`,
  renameBranch: `
    UPDATE skein.branches SET name = @to::text
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND name = @name::text`,
  renameInLinks: `
    UPDATE skein.agent_links SET branch = @to::text
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND branch = @name::text`,
  renameInTurns: `
    UPDATE skein.turns SET branch = @to::text
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND branch = @name::text`,
  deleteBranch: `
    DELETE FROM skein.branches WHERE tenant = @tenant::text AND conv = @conv::uuid AND name = @name::text`,
  setBranchKey: `
    UPDATE skein.branches SET key = @key::text, former_key = @former_key::text,
      trashed_key = @trashed_key::text
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND name = @name::text`,
  links: `
    SELECT branch, agent, directory, foreign_id, seen_id, updated_at FROM skein.agent_links
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND branch = @name::text ORDER BY agent, directory`,
  listLinks: `
    SELECT branch, agent, directory, foreign_id, seen_id, updated_at FROM skein.agent_links
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND branch = @name::text
      AND (agent, directory) > (@agent::text, @directory::text)
    ORDER BY agent, directory LIMIT @limit::bigint`,
  putLink: `
    INSERT INTO skein.agent_links (
      tenant, conv, branch, agent, directory, directory_hash, foreign_id, seen_seq, seen_id, updated_at)
    VALUES (
      @tenant::text, @conv::uuid, @name::text, @agent::text, @directory::text,
      sha256(${bytes('@directory::text')}), @foreign_id::text, @seen_seq::int, @seen_id::text, @now::bigint)
    ON CONFLICT (tenant, conv, branch, agent, directory_hash) DO UPDATE SET
      foreign_id = excluded.foreign_id, seen_seq = excluded.seen_seq, seen_id = excluded.seen_id,
      updated_at = excluded.updated_at`,
  deleteLink: `
    DELETE FROM skein.agent_links
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND branch = @name::text AND agent = @agent::text
      AND directory_hash = sha256(${bytes('@directory::text')})`,
  deleteLinks: `
    DELETE FROM skein.agent_links WHERE tenant = @tenant::text AND conv = @conv::uuid AND branch = @name::text`,
  clearSeen: `
    UPDATE skein.agent_links SET seen_seq = NULL, seen_id = NULL
    WHERE tenant = @tenant::text AND conv = @conv::uuid AND seen_seq BETWEEN @lo::int AND @hi::int`,
  lockBranch: [
    lock,
    `SELECT c.id AS conv, c.next_seq, c.indexed_seq, (c.title IS NOT NULL)::int AS titled, c.trashed_at,
      b.name, b.head_seq, b.head_id, b.head_run, b.head_depth, b.head_path_tokens,
      EXISTS (
        SELECT FROM skein.turns t WHERE t.tenant = @tenant::text AND t.conv = @id::uuid AND t.key = @turn::text
      )::int AS turn_known,
      EXISTS (
        SELECT FROM skein.turns t
        WHERE t.tenant = @tenant::text AND t.conv = @id::uuid AND t.branch = @name::text AND t.status = 'open'
      )::int AS held
    FROM skein.conversations c
    JOIN skein.branches b ON b.tenant = @tenant::text AND b.conv = @id::uuid AND b.name = @name::text
    WHERE c.tenant = @tenant::text AND c.id = @id::uuid`,
  ],
  insertFork: [
    lock,
    `INSERT INTO skein.branches (
      tenant, conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, title, created_at, updated_at)
    SELECT m.tenant, m.conv, @name::text, m.seq, m.id, m.run, m.depth, m.path_tokens, @title::text,
      @now::bigint, @now::bigint
    FROM (SELECT * FROM skein.messages x WHERE x.tenant = @tenant::text AND x.id = @at::text OFFSET 0) m
    JOIN LATERAL (
      SELECT x.trashed_at FROM skein.conversations x WHERE x.tenant = @tenant::text AND x.id = m.conv OFFSET 0) c ON ${notTrashed}
    WHERE m.conv = @id::uuid
    ON CONFLICT (tenant, conv, name) DO NOTHING`,
  ],
  bumpVersionOf: `
    UPDATE skein.conversations SET version = version + 1 WHERE tenant = @tenant::text AND id = @id::uuid`,
} satisfies Partial<Queries>
