import type { Migration } from '../engine/schema.ts'
import { laterMigrations } from './later-migrations.ts'
import { newerMigrations } from './newer-migrations.ts'

/** Append only. A released migration is history: never edit, reorder or delete one, and never call
 *  application code from it, because that code will change. */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'conversations, branches, messages, turns, search',
    // No sequences and no foreign keys, so that tenants can move between servers, and no check slows
    // down an append (up to 0.27 of its time). Each statement or transaction writes everything that
    // belongs together. For the same reason the tables that an append writes have no CHECK: the server
    // parses its text for every statement (0.18 of an append), but not that of a domain.
    // A second index of a table does not begin with the tenant, unless its order is needed. For a
    // tenant created after the last ANALYZE, the planner assumes a single row and uses any index that
    // begins with the tenant: a search that read all messages for each of its hits took 100 s instead
    // of 2 s.
    // Text is ordered by bytes, as in SQLite, independent of the server's locale.
    sql: `
CREATE DOMAIN skein.tenant AS text COLLATE "C" CHECK (VALUE <> '');

-- One row a conversation, hot counters included: the row that every writer locks first.
CREATE TABLE skein.conversations (
  tenant skein.tenant NOT NULL,
  id uuid NOT NULL,
  kind text COLLATE "C" NOT NULL, -- main, subagent
  title text COLLATE "C",
  title_folded text COLLATE "C",
  model text COLLATE "C",
  label text COLLATE "C",
  channel text COLLATE "C",
  directory text COLLATE "C",
  project text COLLATE "C",
  task text COLLATE "C",
  owner text COLLATE "C",
  parent_id uuid,
  parent_message text COLLATE "C",
  prompt_policy text COLLATE "C" NOT NULL, -- rebuild, stored, message
  prompt_hash text COLLATE "C",
  tool_results text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  tags text COLLATE "C" NOT NULL,
  active_branch text COLLATE "C" NOT NULL,
  next_seq int NOT NULL DEFAULT 0,
  next_event int NOT NULL DEFAULT 0,
  -- Every message with seq below it is in the search index.
  indexed_seq int NOT NULL DEFAULT 0,
  messages int NOT NULL DEFAULT 0,
  tokens bigint NOT NULL DEFAULT 0,
  tokens_used bigint NOT NULL DEFAULT 0,
  cost double precision NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 1,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  expires_at bigint,
  ttl_ms bigint,
  renew_ms bigint,
  trashed_at bigint,
  trash_sweeps int NOT NULL DEFAULT 0,
  purging int NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 85);
-- Lists, newest first. Partial, so that a conversation without the link pays nothing.
CREATE INDEX conversations_recent ON skein.conversations (tenant, updated_at, id) WHERE trashed_at IS NULL;
-- The beginning of a long path: an index row holds 2,700 bytes.
CREATE INDEX conversations_directory ON skein.conversations (tenant, left(directory, 500), updated_at, id) WHERE directory IS NOT NULL AND trashed_at IS NULL;
CREATE INDEX conversations_channel ON skein.conversations (tenant, channel, updated_at, id) WHERE channel IS NOT NULL AND trashed_at IS NULL;
CREATE INDEX conversations_project ON skein.conversations (tenant, project, updated_at, id) WHERE project IS NOT NULL AND trashed_at IS NULL;
-- Also for the sweep, which reads all of it: each further index costs every append.
CREATE INDEX conversations_task ON skein.conversations (tenant, task, expires_at) WHERE task IS NOT NULL;
CREATE INDEX conversations_parent ON skein.conversations (tenant, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX conversations_trash ON skein.conversations (tenant, trashed_at) WHERE trashed_at IS NOT NULL;
CREATE INDEX conversations_unindexed ON skein.conversations (tenant, id) WHERE indexed_seq < next_seq;

-- Fat text out of the hot row, stored once.
CREATE TABLE skein.prompts (
  tenant skein.tenant NOT NULL,
  hash text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, hash)
);

CREATE TABLE skein.tags (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  tag text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, conv, tag)
);
CREATE INDEX tags_tag ON skein.tags (tag, tenant);

-- The top-level scalars of the metadata, to filter lists by: SHA-256 over key, NUL and the value as JSON
-- text, because either may be longer than an index takes.
CREATE TABLE skein.metadata (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  pair bytea NOT NULL,
  PRIMARY KEY (tenant, conv, pair)
);
CREATE INDEX metadata_pair ON skein.metadata (pair, tenant);

-- Named pointers. What an append needs of the head stands here, so that it reads no message.
CREATE TABLE skein.branches (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  head_seq int NOT NULL DEFAULT -1,
  head_id text COLLATE "C",
  head_run int NOT NULL DEFAULT 0,
  head_depth int NOT NULL DEFAULT -1,
  head_path_tokens bigint NOT NULL DEFAULT 0,
  key text COLLATE "C",
  former_key text COLLATE "C",
  -- The key it had when it went to the trash: restoring gives it back.
  trashed_key text COLLATE "C",
  title text COLLATE "C",
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, conv, name)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX branches_key ON skein.branches (key, tenant) WHERE key IS NOT NULL;

CREATE TABLE skein.agent_links (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  branch text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  directory text COLLATE "C" NOT NULL,
  -- SHA-256, because a path may be longer than an index takes.
  directory_hash bytea NOT NULL,
  foreign_id text COLLATE "C" NOT NULL,
  seen_seq int,
  seen_id text COLLATE "C",
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, conv, branch, agent, directory_hash)
);
CREATE INDEX agent_links_foreign ON skein.agent_links (foreign_id, agent, tenant);

-- A message whose parent is seq - 1 is in its parent's run, any other begins one (run = seq), so that a
-- path is a few range scans.
CREATE TABLE skein.messages (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  seq int NOT NULL,
  parent_seq int NOT NULL,
  run int NOT NULL,
  depth int NOT NULL,
  tokens int NOT NULL,
  turn int,
  path_tokens bigint NOT NULL,
  at bigint NOT NULL,
  step int,
  id text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL, -- user, assistant, tool_result, system
  label text COLLATE "C",
  body_hash bytea NOT NULL,
  body text COLLATE "C",
  erased text COLLATE "C",
  PRIMARY KEY (tenant, conv, seq)
);
CREATE UNIQUE INDEX messages_id ON skein.messages (id, tenant);
-- Children and fork points; one entry for each run, so it is all but empty on linear talk.
CREATE INDEX messages_fork ON skein.messages (tenant, conv, parent_seq, seq) WHERE run = seq;

CREATE TABLE skein.tombstones (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  seq int NOT NULL,
  parent_seq int NOT NULL,
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  reason text COLLATE "C",
  PRIMARY KEY (tenant, conv, seq)
);

-- A turn is named outside by its key, inside by the seq of its first message.
CREATE TABLE skein.turns (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  branch text COLLATE "C" NOT NULL,
  first int NOT NULL,
  last int NOT NULL,
  last_step int NOT NULL,
  status text COLLATE "C" NOT NULL, -- open, complete, interrupted, failed
  model text COLLATE "C",
  prompt_hash text COLLATE "C",
  usage text COLLATE "C" NOT NULL,
  holder text COLLATE "C",
  lease_until bigint,
  started_at bigint NOT NULL,
  ended_at bigint,
  PRIMARY KEY (tenant, conv, key)
) WITH (fillfactor = 85);
CREATE INDEX turns_open ON skein.turns (tenant, conv, branch) WHERE status = 'open';

CREATE TABLE skein.drafts (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  turn text COLLATE "C" NOT NULL,
  n int NOT NULL,
  type text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, conv, turn, n)
);

CREATE TABLE skein.blobs (
  tenant skein.tenant NOT NULL,
  hash text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (tenant, hash)
);
CREATE TABLE skein.blob_refs (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  seq int NOT NULL,
  hash text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, conv, seq, hash)
);
CREATE INDEX blob_refs_hash ON skein.blob_refs (hash, tenant);

-- One range is summarised once. While text is null somebody is at it.
CREATE TABLE skein.summaries (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  last_seq int NOT NULL,
  first_seq int NOT NULL,
  last_id text COLLATE "C" NOT NULL,
  first_id text COLLATE "C" NOT NULL,
  model text COLLATE "C",
  tokens int,
  text text COLLATE "C",
  checksum text COLLATE "C",
  holder text COLLATE "C",
  lease_until bigint,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, conv, last_seq, first_seq)
);

CREATE TABLE skein.events (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  n int NOT NULL,
  type text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  data text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, conv, n)
);

CREATE TABLE skein.state (
  tenant skein.tenant NOT NULL,
  name text COLLATE "C" NOT NULL,
  value bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- One row a message: our own tokens, and marks that begin with '=', which no token of a text does.
-- fastupdate off: a pending list would be read by every search, and emptied inside somebody's statement.
CREATE TABLE skein.search (
  tenant skein.tenant NOT NULL,
  conv uuid NOT NULL,
  seq int NOT NULL,
  at bigint NOT NULL,
  tsv tsvector NOT NULL,
  PRIMARY KEY (conv, seq, tenant)
);
CREATE INDEX search_tsv ON skein.search USING gin (tsv) WITH (fastupdate = off);
CREATE INDEX search_at ON skein.search (tenant, at);

-- For a statement that finds only while it writes that another was first: undoes it.
CREATE FUNCTION skein.lost_race() RETURNS int LANGUAGE plpgsql VOLATILE AS
$$ BEGIN RAISE EXCEPTION 'skein: another writer was first' USING ERRCODE = 'serialization_failure'; END $$;

-- A mark for a text of any length. Where two share one, they only cost each other time.
CREATE FUNCTION skein.mark(_kind text, _text text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
$$ BEGIN RETURN '=' || _kind || left(encode(sha256(convert_to(_text, 'UTF8')), 'hex'), 12); END $$;

-- The marks of one entry: its tenant, what searches are narrowed by, and the stretches of time it lies in, from a
-- second (2^10 ms) to a year (2^35 ms). They let the index answer "this word, in this stretch".
CREATE FUNCTION skein.marks(_tenant text, _at bigint, _directory text, _kind text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  _mark text := skein.mark('b', _tenant);
  _marks text[] := ARRAY[_mark, '=k' || _kind];
  _bits int;
BEGIN
  FOREACH _bits IN ARRAY ARRAY[10, 15, 20, 25, 30, 35] LOOP
    _marks := _marks || (_mark || '/' || _bits || '/' || to_hex(_at >> _bits));
  END LOOP;
  RETURN CASE WHEN _directory IS NULL THEN _marks ELSE _marks || skein.mark('d', _directory) END;
END $$;

-- The newest entries that answer. A word in every second message and one in none must both be quick, so it
-- works backwards in stretches of time: the newest entries are read one by one, then the index is asked for
-- one stretch after another, each as long as the hits in the one before let expect that it will do. Where a
-- stretch has none, the word is rare, and all the rest is asked for at once.
-- The words and the stretch are two conditions: the index then leaps from one to the next place where both
-- can hold; in one it goes through all that its rarest word has. OFFSET 0 and coalesce: the planner may not
-- choose another way.
CREATE FUNCTION skein.find(
  _tenant text, _match tsquery, _from bigint, _upto bigint, _directory text, _kind text, _limit int
) RETURNS TABLE (conv uuid, seq int, at bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
  _newest CONSTANT int := 128;
  _levels CONSTANT int[] := ARRAY[10, 15, 20, 25, 30, 35];
  _mark text := skein.mark('b', _tenant);
  _oldest bigint;
  _lo bigint; -- the last moment before the stretch
  _hi bigint; -- the last one in it
  _width bigint;
  _bits int;
  _first tsquery;
  _second tsquery;
  _left int := _limit;
  _found int;
BEGIN
  IF _directory IS NOT NULL THEN
    _match := _match && ('''' || skein.mark('d', _directory) || '''')::tsquery;
  END IF;
  IF _kind IS NOT NULL THEN _match := _match && ('''=k' || _kind || '''')::tsquery; END IF;
  SELECT greatest(_from, min(s.at)), least(_upto, max(s.at)) INTO _oldest, _hi
    FROM skein.search s WHERE s.tenant = _tenant;
  SELECT s.at INTO _lo FROM skein.search s
    WHERE s.tenant = _tenant AND s.at <= _hi AND s.at >= _oldest ORDER BY s.at DESC OFFSET _newest LIMIT 1;
  _lo := coalesce(_lo, _oldest - 1);
  RETURN QUERY
    SELECT s.conv, s.seq, s.at
    FROM (
      SELECT n.conv, n.seq, n.at, n.tsv FROM skein.search n
      WHERE n.tenant = _tenant AND n.at > _lo AND n.at <= _hi ORDER BY n.at DESC OFFSET 0) s
    JOIN LATERAL (
      SELECT FROM skein.conversations c WHERE c.tenant = _tenant AND c.id = s.conv AND coalesce(c.trashed_at, -1) < 0
        AND (_directory IS NULL OR c.directory = _directory) AND (_kind IS NULL OR c.kind = _kind)
      OFFSET 0) c ON true
    WHERE s.tsv @@ _match ORDER BY s.at DESC LIMIT _left;
  GET DIAGNOSTICS _found = ROW_COUNT;
  _left := _left - _found;
  WHILE _left > 0 AND _lo >= _oldest LOOP
    _hi := _lo;
    IF _width IS NULL THEN
      -- By number of entries, as the time they took says nothing yet.
      SELECT s.at INTO _lo FROM skein.search s WHERE s.tenant = _tenant AND s.at <= _hi AND s.at >= _oldest
        ORDER BY s.at DESC OFFSET least(16384, greatest(1024, _left * _newest * 3 / (_found + 1) / 2)) LIMIT 1;
      _lo := coalesce(_lo, _oldest - 1);
    ELSIF _found = 0 THEN
      _lo := _oldest - 1;
    ELSE
      _lo := greatest(_oldest - 1, _hi - _width * least(16, greatest(2, _left * 3 / (_found * 2))));
    END IF;
    _width := greatest(1, _hi - _lo);
    SELECT min(b) INTO _bits FROM unnest(_levels) b WHERE (_hi >> b) - ((_lo + 1) >> b) < 32;
    IF _lo >= _oldest AND _bits IS NOT NULL THEN
      SELECT string_agg('''' || _mark || '/' || _bits || '/' || to_hex(n) || '''', '|')::tsquery
        INTO _first FROM generate_series((_lo + 1) >> _bits, _hi >> _bits) n;
      _second := _match;
    ELSE
      _first := _match;
      -- Where there is but one tenant, its mark would say nothing.
      SELECT CASE WHEN min(s.tenant) = max(s.tenant) THEN _match ELSE ('''' || _mark || '''')::tsquery END
        INTO _second FROM skein.search s;
    END IF;
    RETURN QUERY
      SELECT s.conv, s.seq, s.at
      FROM (
        -- || '' and + 0 hide these columns from the planner: only the index on tsv may serve here.
        SELECT n.conv, n.seq, n.at FROM skein.search n
        WHERE n.tsv @@ _first AND n.tsv @@ _second
          AND n.tenant || '' = _tenant AND n.at + 0 > _lo AND n.at + 0 <= _hi
        ORDER BY n.at DESC OFFSET 0) s
      JOIN LATERAL (
        SELECT FROM skein.conversations c WHERE c.tenant = _tenant AND c.id = s.conv AND coalesce(c.trashed_at, -1) < 0
          AND (_directory IS NULL OR c.directory = _directory) AND (_kind IS NULL OR c.kind = _kind)
        OFFSET 0) c ON true
      ORDER BY s.at DESC LIMIT _left;
    GET DIAGNOSTICS _found = ROW_COUNT;
    _left := _left - _found;
  END LOOP;
END $$;
`,
  },
  ...laterMigrations,
  ...newerMigrations,
]
