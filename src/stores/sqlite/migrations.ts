import type { Migration } from '../engine/schema.ts'
import { laterMigrations } from './later-migrations.ts'

/** Append only. A released migration is history: never edit, reorder or delete one, and never call
 *  application code from it, because that code will change. */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'conversations, branches, messages, turns, search',
    sql: `
-- One row a conversation, hot counters included. c is the inner key, id the public one.
CREATE TABLE skein_conversations (
  c INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('main', 'subagent')),
  title TEXT,
  title_folded TEXT,
  model TEXT,
  label TEXT,
  channel TEXT,
  directory TEXT,
  project TEXT,
  task TEXT,
  owner TEXT,
  parent_id TEXT,
  parent_message TEXT,
  prompt_policy TEXT NOT NULL CHECK (prompt_policy IN ('rebuild', 'stored', 'message')),
  prompt_hash TEXT REFERENCES skein_prompts(hash),
  tool_results TEXT NOT NULL,
  metadata TEXT NOT NULL,
  tags TEXT NOT NULL,
  active_branch TEXT NOT NULL,
  next_seq INTEGER NOT NULL DEFAULT 0,
  next_event INTEGER NOT NULL DEFAULT 0,
  -- The first message that is not in the search index; null if all are. Most appends find it set, and then
  -- leave its index alone, which a condition on next_seq would have them write.
  unindexed_from INTEGER,
  messages INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0,
  tokens_used INTEGER NOT NULL DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  ttl_ms INTEGER,
  renew_ms INTEGER,
  trashed_at INTEGER,
  trash_sweeps INTEGER NOT NULL DEFAULT 0,
  purging INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Lists, newest first. Partial, so that a conversation without the link pays nothing.
CREATE INDEX skein_conversations_recent ON skein_conversations(updated_at, id) WHERE trashed_at IS NULL;
CREATE INDEX skein_conversations_directory ON skein_conversations(directory, updated_at, id) WHERE directory IS NOT NULL AND trashed_at IS NULL;
CREATE INDEX skein_conversations_channel ON skein_conversations(channel, updated_at, id) WHERE channel IS NOT NULL AND trashed_at IS NULL;
CREATE INDEX skein_conversations_project ON skein_conversations(project, updated_at, id) WHERE project IS NOT NULL AND trashed_at IS NULL;
-- Without updated_at: appends leave them alone.
CREATE INDEX skein_conversations_task ON skein_conversations(task) WHERE task IS NOT NULL;
CREATE INDEX skein_conversations_parent ON skein_conversations(parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX skein_conversations_expiry ON skein_conversations(expires_at) WHERE task IS NOT NULL AND expires_at IS NOT NULL AND trashed_at IS NULL;
CREATE INDEX skein_conversations_trash ON skein_conversations(trashed_at) WHERE trashed_at IS NOT NULL;
CREATE INDEX skein_conversations_unindexed ON skein_conversations(c) WHERE unindexed_from IS NOT NULL;

-- Fat text out of the hot row, stored once.
CREATE TABLE skein_prompts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE skein_tags (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  PRIMARY KEY (conv, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX skein_tags_tag ON skein_tags(tag);

-- The top-level scalars of the metadata, each as JSON text, to filter lists by.
CREATE TABLE skein_metadata (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (conv, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX skein_metadata_value ON skein_metadata(key, value);

-- Named pointers. What an append needs of the head stands here, so that it reads no message.
CREATE TABLE skein_branches (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  name TEXT NOT NULL,
  head_seq INTEGER NOT NULL DEFAULT -1,
  head_id TEXT,
  head_run INTEGER NOT NULL DEFAULT 0,
  head_depth INTEGER NOT NULL DEFAULT -1,
  head_path_tokens INTEGER NOT NULL DEFAULT 0,
  key TEXT,
  former_key TEXT,
  -- The key it had when it went to the trash: restoring gives it back.
  trashed_key TEXT,
  title TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (conv, name)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX skein_branches_key ON skein_branches(key) WHERE key IS NOT NULL;

CREATE TABLE skein_agent_links (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  branch TEXT NOT NULL,
  agent TEXT NOT NULL,
  directory TEXT NOT NULL,
  foreign_id TEXT NOT NULL,
  seen_seq INTEGER,
  seen_id TEXT,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (conv, branch, agent, directory)
) STRICT, WITHOUT ROWID;
CREATE INDEX skein_agent_links_foreign ON skein_agent_links(agent, foreign_id);

-- n is the arrival order: full pages. A message whose parent is seq - 1 is in its parent's run, any
-- other begins one (run = seq), so that a path is a few range scans.
CREATE TABLE skein_messages (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  parent_seq INTEGER NOT NULL,
  run INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  -- Not role IN (…): for that a table is built at each insert, a third of what the insert costs.
  role TEXT NOT NULL CHECK (role = 'user' OR role = 'assistant' OR role = 'tool_result' OR role = 'system'),
  at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  path_tokens INTEGER NOT NULL,
  turn INTEGER,
  step INTEGER,
  label TEXT,
  body_hash BLOB NOT NULL,
  body TEXT,
  erased TEXT,
  CHECK (parent_seq >= -1 AND parent_seq < seq AND run <= seq AND (body IS NULL) = (erased IS NOT NULL))
) STRICT;
CREATE UNIQUE INDEX skein_messages_id ON skein_messages(id);
CREATE UNIQUE INDEX skein_messages_seq ON skein_messages(conv, seq);
-- Children and fork points; one entry for each run, so it is all but empty on linear talk.
CREATE INDEX skein_messages_fork ON skein_messages(conv, parent_seq, seq) WHERE run = seq;
CREATE INDEX skein_messages_label ON skein_messages(label) WHERE label IS NOT NULL;

CREATE TABLE skein_tombstones (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  parent_seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT,
  PRIMARY KEY (conv, seq)
) STRICT, WITHOUT ROWID;

-- A turn is named outside by its key, inside by the seq of its first message.
CREATE TABLE skein_turns (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  key TEXT NOT NULL,
  branch TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status = 'open' OR status = 'complete' OR status = 'interrupted' OR status = 'failed'),
  model TEXT,
  prompt_hash TEXT,
  usage TEXT NOT NULL,
  holder TEXT,
  lease_until INTEGER,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (conv, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX skein_turns_open ON skein_turns(conv, branch) WHERE status = 'open';

CREATE TABLE skein_drafts (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  turn TEXT NOT NULL,
  n INTEGER NOT NULL,
  type TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (conv, turn, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE skein_blobs (
  hash TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE TABLE skein_blob_refs (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL REFERENCES skein_blobs(hash),
  PRIMARY KEY (conv, seq, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX skein_blob_refs_hash ON skein_blob_refs(hash);

-- One range is summarised once. While text is null somebody is at it.
CREATE TABLE skein_summaries (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  last_seq INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_id TEXT NOT NULL,
  first_id TEXT NOT NULL,
  model TEXT,
  tokens INTEGER,
  text TEXT,
  checksum TEXT,
  holder TEXT,
  lease_until INTEGER,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (conv, last_seq, first_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE skein_events (
  conv INTEGER NOT NULL REFERENCES skein_conversations(c) ON DELETE CASCADE,
  n INTEGER NOT NULL,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (conv, n)
) STRICT, WITHOUT ROWID;

-- Our own tokens, separated by spaces. Only which message holds which token is kept (detail=none):
-- what must be exact is decided on the text itself. '=' marks scopes, which no text token can hold.
CREATE VIRTUAL TABLE skein_search USING fts5(
  tokens, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_./-='"
);
-- Batched deletes must not stop to merge; see docs/decisions.
INSERT INTO skein_search(skein_search, rank) VALUES ('deletemerge', 0);
-- r orders by time: milliseconds << 20, plus a counter within the millisecond.
CREATE TABLE skein_search_map (r INTEGER PRIMARY KEY, n INTEGER NOT NULL UNIQUE) STRICT;

CREATE TABLE skein_state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`,
  },
  {
    version: 2,
    name: 'lists by label',
    isOptional: true,
    sql: `
-- Without updated_at: appends leave it alone.
CREATE INDEX skein_conversations_label ON skein_conversations(label) WHERE label IS NOT NULL;
`,
  },
  {
    version: 3,
    name: 'conversations by prompt',
    isOptional: true,
    // Not partial, so that it also serves the foreign key: without an index, removing a prompt reads all
    // conversations. An append does not write it.
    sql: `CREATE INDEX skein_conversations_prompt ON skein_conversations(prompt_hash);`,
  },
  {
    version: 4,
    name: 'pairs of words in the search index',
    // A search of a file without it does not use the pairs (indexForm).
    isOptional: true,
    sql: `
INSERT INTO skein_search (skein_search) VALUES ('delete-all');
-- Merged in pieces after each batch (tidyIndex), never inside another statement.
INSERT INTO skein_search (skein_search, rank) VALUES ('automerge', 0);
INSERT INTO skein_search (skein_search, rank) VALUES ('crisismerge', 1999);
-- An older version would write entries without pairs: the missing column refuses them.
DROP TABLE skein_search_map;
CREATE TABLE skein_search_map (r INTEGER PRIMARY KEY, n INTEGER NOT NULL UNIQUE, form INTEGER NOT NULL) STRICT;
UPDATE skein_conversations SET unindexed_from = 0 WHERE next_seq > 0 AND unindexed_from IS NOT 0;
INSERT INTO skein_state (name, value) VALUES ('index_form', 2);
`,
  },
  {
    version: 5,
    name: 'turns in order',
    isOptional: true,
    sql: `
-- A page of turns in order. Not written again when the turn ends.
CREATE INDEX skein_turns_first ON skein_turns(conv, first);
-- Few turns stop early: their list must not read all others. A turn that completes never writes it.
CREATE INDEX skein_turns_stopped ON skein_turns(conv, first) WHERE status = 'interrupted' OR status = 'failed';
`,
  },
  {
    version: 6,
    name: 'tokens of the service, tool events by message',
    // Without it, a file that cannot be written has no tokens: their statements throw ReadOnlyError.
    isOptional: true,
    sql: `
-- Tokens of the HTTP service, without their secrets. They belong to no conversation: copies and exports
-- leave them out.
CREATE TABLE skein_tokens (
  hash TEXT PRIMARY KEY, -- SHA-256 of the secret
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL, -- a JSON list
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
-- The events of a tool call: by the message of the call, or by the id of the call if they do not name one.
CREATE INDEX skein_events_tools ON skein_events(CASE WHEN json_valid(data) THEN coalesce(
  json_extract(data, '$.message'), json_extract(data, '$.call'), json_extract(data, '$.callId')) END)
  WHERE type IN ('tool_started', 'tool_ended');
`,
  },
  {
    version: 7,
    name: 'tasks and dispatches',
    // Without it, a file that cannot be written has no tasks: their statements throw ReadOnlyError.
    isOptional: true,
    sql: `
-- A task, and the state of its queued or running dispatch: it has one at most, so a claim writes one row.
CREATE TABLE skein_tasks (
  t INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT,
  description TEXT NOT NULL,
  context TEXT,
  parent TEXT,
  metadata TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled')),
  -- The number of the queued or running dispatch, otherwise of the last one.
  current INTEGER NOT NULL DEFAULT 1,
  dispatches INTEGER NOT NULL DEFAULT 1,
  attempts INTEGER NOT NULL DEFAULT 0,
  deaths INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  worker TEXT,
  lease_until INTEGER,
  cancel_requested INTEGER NOT NULL DEFAULT 0,
  queued_at INTEGER NOT NULL,
  started_at INTEGER,
  conversation_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
-- Partial, so that finished tasks cost a claim nothing.
CREATE INDEX skein_tasks_queued ON skein_tasks(queued_at, t) WHERE status = 'queued';
CREATE INDEX skein_tasks_queued_in ON skein_tasks(project, queued_at, t) WHERE status = 'queued' AND project IS NOT NULL;
CREATE INDEX skein_tasks_running ON skein_tasks(id) WHERE status = 'running';
-- Lists, newest first.
CREATE INDEX skein_tasks_created ON skein_tasks(created_at, id);
CREATE INDEX skein_tasks_project ON skein_tasks(project, created_at, id) WHERE project IS NOT NULL;
CREATE INDEX skein_tasks_open ON skein_tasks(status, created_at, id) WHERE status <> 'done';

CREATE TABLE skein_dispatches (
  task TEXT NOT NULL,
  n INTEGER NOT NULL,
  words TEXT,
  -- active: queued or running, see the task.
  status TEXT NOT NULL CHECK (status IN ('waiting', 'active', 'done', 'failed', 'cancelled')),
  attempts INTEGER NOT NULL DEFAULT 0,
  deaths INTEGER NOT NULL DEFAULT 0,
  worker TEXT,
  conversation_id TEXT,
  result TEXT,
  error TEXT,
  created_at INTEGER NOT NULL,
  queued_at INTEGER,
  started_at INTEGER,
  ended_at INTEGER,
  PRIMARY KEY (task, n)
) STRICT;
CREATE INDEX skein_dispatches_waiting ON skein_dispatches(task, n) WHERE status = 'waiting';
`,
  },
  {
    version: 8,
    name: 'indexes of approvals',
    // Without it, the lists of approvals read all events.
    isOptional: true,
    sql: `
-- Requests for approvals and their answers are few among the events.
CREATE INDEX skein_events_requests ON skein_events(at) WHERE type = 'approval_requested';
CREATE INDEX skein_events_requests_in ON skein_events(conv, n) WHERE type = 'approval_requested';
CREATE INDEX skein_events_permissions ON skein_events(conv, n) WHERE type = 'permission';
`,
  },
  {
    version: 9,
    name: 'fewer indexes of tasks',
    // A claim and its end wrote a page of it each. The index of open tasks finds the running ones too.
    isOptional: true,
    sql: `
DROP INDEX IF EXISTS skein_tasks_running;
`,
  },
  ...laterMigrations,
]
