import type { Migration } from '../engine/schema.ts'

/** Append only, as `migrations.ts`, which contains the first version. */
export const laterMigrations: readonly Migration[] = [
  {
    version: 2,
    name: 'lists by label',
    sql: `
CREATE INDEX conversations_label ON skein.conversations (label, tenant) WHERE label IS NOT NULL;
`,
  },
  {
    version: 3,
    name: 'no statistics about texts',
    // ANALYZE samples values into pg_statistic, where they would stay after their deletion. No plan depends
    // on the values of these columns.
    sql: `
ALTER TABLE skein.drafts ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE skein.prompts ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE skein.summaries ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE skein.events ALTER COLUMN data SET STATISTICS 0;
`,
  },
  {
    version: 4,
    name: 'pairs of words in the search index',
    // The index is only dropped here, and built again in the background. With fastupdate, entries go to a
    // list that is merged into the index now and then: half of the time per message. The function belongs to
    // the owner of the index, because only the owner may merge it.
    sql: `
TRUNCATE skein.search;
-- An older version would write entries without pairs: the missing column refuses them.
ALTER TABLE skein.search ADD COLUMN form smallint NOT NULL;
UPDATE skein.conversations SET indexed_seq = 0 WHERE indexed_seq > 0;
ALTER INDEX skein.search_tsv SET (fastupdate = on);
CREATE FUNCTION skein.tidy_search() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$ SELECT gin_clean_pending_list('skein.search_tsv'::regclass) $$;
`,
  },
  {
    version: 5,
    name: 'turns in order',
    // A page of turns in order. The second index only has the turns that stopped early, which are few.
    sql: `
CREATE INDEX turns_first ON skein.turns (conv, first, tenant);
CREATE INDEX turns_stopped ON skein.turns (conv, first, tenant) WHERE status = 'interrupted' OR status = 'failed';
`,
  },
  {
    version: 6,
    name: 'tokens of the service, tool events by message',
    // The key of an event is found by a pattern: a JSON function fails on an escaped NUL in the data.
    sql: `
-- Tokens of the HTTP service, without their secrets. A token is found by its hash and names its tenant.
CREATE TABLE skein.tokens (
  tenant skein.tenant NOT NULL,
  hash text COLLATE "C" NOT NULL, -- SHA-256 of the secret
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL, -- a JSON list
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  PRIMARY KEY (hash)
);
CREATE UNIQUE INDEX tokens_id ON skein.tokens (tenant, id);
-- The events of a tool call: by the message of the call, or by the id of the call if they do not name one.
CREATE FUNCTION skein.tool_key(_data text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT coalesce(
  substring(_data from '"message":"([^"\\\\]{1,200})"'), substring(_data from '"call(?:Id)?":"([^"\\\\]{1,200})"')) $$;
CREATE INDEX events_tools ON skein.events (conv, skein.tool_key(data), n, tenant)
  WHERE type IN ('tool_started', 'tool_ended');
ALTER INDEX skein.events_tools ALTER COLUMN 2 SET STATISTICS 0;
`,
  },
  {
    version: 7,
    name: 'tasks and dispatches',
    // The indexes of the queue and of the lists begin with the tenant, because their order is needed.
    sql: `
-- A task, and the state of its queued or running dispatch: it has one at most, so a claim writes one row.
CREATE TABLE skein.tasks (
  tenant skein.tenant NOT NULL,
  id text COLLATE "C" NOT NULL,
  project text COLLATE "C",
  description text COLLATE "C" NOT NULL,
  context text COLLATE "C",
  parent text COLLATE "C",
  metadata text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL, -- queued, running, done, failed, cancelled
  current int NOT NULL DEFAULT 1, -- the queued or running dispatch, otherwise the last one
  dispatches int NOT NULL DEFAULT 1,
  attempts int NOT NULL DEFAULT 0,
  deaths int NOT NULL DEFAULT 0,
  holder text COLLATE "C",
  worker text COLLATE "C",
  lease_until bigint,
  cancel_requested int NOT NULL DEFAULT 0,
  queued_at bigint NOT NULL,
  started_at bigint,
  conversation_id uuid,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 85);
CREATE INDEX tasks_queued ON skein.tasks (tenant, queued_at, id) WHERE status = 'queued';
CREATE INDEX tasks_queued_in ON skein.tasks (tenant, project, queued_at, id)
  WHERE status = 'queued' AND project IS NOT NULL;
CREATE INDEX tasks_running ON skein.tasks (tenant, id) WHERE status = 'running';
CREATE INDEX tasks_created ON skein.tasks (tenant, created_at, id);
CREATE INDEX tasks_project ON skein.tasks (tenant, project, created_at, id) WHERE project IS NOT NULL;
CREATE INDEX tasks_open ON skein.tasks (tenant, status, created_at, id) WHERE status <> 'done';
ALTER TABLE skein.tasks ALTER COLUMN description SET STATISTICS 0;
ALTER TABLE skein.tasks ALTER COLUMN context SET STATISTICS 0;
ALTER TABLE skein.tasks ALTER COLUMN metadata SET STATISTICS 0;

CREATE TABLE skein.dispatches (
  tenant skein.tenant NOT NULL,
  task text COLLATE "C" NOT NULL,
  n int NOT NULL,
  words text COLLATE "C",
  status text COLLATE "C" NOT NULL, -- waiting, active (queued or running, see the task), done, failed, cancelled
  attempts int NOT NULL DEFAULT 0,
  deaths int NOT NULL DEFAULT 0,
  worker text COLLATE "C",
  conversation_id uuid,
  result text COLLATE "C",
  error text COLLATE "C",
  created_at bigint NOT NULL,
  queued_at bigint,
  started_at bigint,
  ended_at bigint,
  PRIMARY KEY (tenant, task, n)
) WITH (fillfactor = 85);
CREATE INDEX dispatches_waiting ON skein.dispatches (task, n, tenant) WHERE status = 'waiting';
ALTER TABLE skein.dispatches ALTER COLUMN words SET STATISTICS 0;
ALTER TABLE skein.dispatches ALTER COLUMN result SET STATISTICS 0;
ALTER TABLE skein.dispatches ALTER COLUMN error SET STATISTICS 0;
`,
  },
  {
    version: 8,
    name: 'indexes of approvals',
    sql: `
-- Requests for approvals and their answers are few among the events.
CREATE INDEX events_requests ON skein.events (tenant, at) WHERE type = 'approval_requested';
CREATE INDEX events_requests_in ON skein.events (tenant, conv, n) WHERE type = 'approval_requested';
CREATE INDEX events_permissions ON skein.events (tenant, conv, n) WHERE type = 'permission';
`,
  },
  {
    version: 9,
    name: 'fewer indexes of tasks, short messages without compression, tails across forks',
    // - The index of open tasks finds the running ones too.
    // - PostgreSQL compresses rows above 2 kB. That took 14 % of an append and 22 % of a tail (decision 84).
    //   Stored rows stay as they are.
    // - The recursion of a tail costs 10 % of it to set up, also where there is no fork to follow. In a
    //   function, only the tails that need it pay for it.
    sql: `
DROP INDEX skein.tasks_running;
ALTER TABLE skein.messages SET (toast_tuple_target = 4080);
-- The rest of a tail, before its step from _lo to _hi, in steps of at most 128 messages. The rows from the
-- budget's edge (_base) and the depth (_floor) on, and the one directly before them.
CREATE FUNCTION skein.tail_before(
  _tenant text, _conv uuid, _lo int, _hi int, _base bigint, _floor bigint, _messages bigint
) RETURNS SETOF skein.messages LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE w(lo, hi) AS (
      SELECT _lo, _hi
      UNION ALL
      SELECT
        CASE WHEN p.path_tokens - p.tokens >= _base AND p.depth > _floor
          THEN greatest(p.run, p.seq - least(_messages, 128)::int) ELSE p.seq END,
        p.seq
      FROM w CROSS JOIN LATERAL (
        SELECT * FROM skein.messages x
        WHERE x.tenant = _tenant AND x.conv = _conv AND x.seq < w.hi AND x.seq = (
          SELECT f.parent_seq FROM skein.messages f
          WHERE f.tenant = _tenant AND f.conv = _conv AND f.seq = w.lo
            AND f.path_tokens - f.tokens >= _base AND f.depth > _floor)
        OFFSET 0) p
    )
    SELECT m.* FROM w CROSS JOIN LATERAL (
      SELECT * FROM skein.messages x
      WHERE x.tenant = _tenant AND x.conv = _conv AND x.seq BETWEEN w.lo AND w.hi
        AND x.path_tokens >= _base AND x.depth >= _floor
      OFFSET 0) m
    WHERE w.hi < _hi;
END $$;
`,
  },
  {
    version: 10,
    name: 'large blobs in parts',
    sql: `
-- The bytes of a large blob, whose row in blobs has its size and no data.
CREATE TABLE skein.blob_parts (
  tenant skein.tenant NOT NULL,
  hash text COLLATE "C" NOT NULL,
  part int NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (tenant, hash, part)
);
ALTER TABLE skein.blob_parts ALTER COLUMN data SET STATISTICS 0;
`,
  },
  {
    version: 11,
    name: 'pairs of words as numbers',
    // The index is only dropped here, and built again in the background. The pairs of an entry were lexemes
    // of its tsvector. As an array of numbers they take a fifth of the space, and most entries are no longer
    // compressed. Both columns are in one index, so that a search compares their lists as before. The pairs
    // are first: the index begins with the list of its first condition, and theirs are the shortest.
    // - The list of new entries had 4 MB and was full before it was merged as planned: an insert merged it.
    // - An older version that is still running writes entries without pairs, which the new column refuses. It
    //   searches for pairs among the lexemes, where they are missing: it no longer finds its function.
    sql: `
TRUNCATE skein.search;
ALTER TABLE skein.search ADD COLUMN pairs smallint[] NOT NULL;
UPDATE skein.conversations SET indexed_seq = 0 WHERE indexed_seq > 0;
DROP INDEX skein.search_tsv;
CREATE INDEX search_tsv ON skein.search USING gin (pairs, tsv)
  WITH (fastupdate = on, gin_pending_list_limit = 32768);

-- The marks of one entry: its tenant, its kind and directory, and its stretches of time, from a second
-- (2^10 ms) to a year (2^35 ms). The index finds a word in one stretch by them. The first argument is the
-- mark of the tenant, which is the same for many entries. An expression, so that the planner inserts it
-- into the statement: a call for each message took a tenth of its time.
DROP FUNCTION skein.marks(text, bigint, text, text);
CREATE FUNCTION skein.marks(_tenant_mark text, _at bigint, _directory_mark text, _kind text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_remove(ARRAY[_tenant_mark, '=k' || _kind, _directory_mark,
    _tenant_mark || '/10/' || to_hex(_at >> 10), _tenant_mark || '/15/' || to_hex(_at >> 15),
    _tenant_mark || '/20/' || to_hex(_at >> 20), _tenant_mark || '/25/' || to_hex(_at >> 25),
    _tenant_mark || '/30/' || to_hex(_at >> 30), _tenant_mark || '/35/' || to_hex(_at >> 35)], NULL)
$$;

-- The newest entries that match and have all pairs, if pairs are given. A word in every second message and
-- one in none must both be quick, so it works backwards in stretches of time: the newest entries are read one
-- by one, then the index is asked for one stretch after another. The length of a stretch follows from the hits
-- in the one before. After a stretch without hits the word is rare, and the whole rest is asked for at once.
-- The words and the stretch are two conditions: the index then skips to the next place where both can hold;
-- with one condition it would read the whole list of its rarest word. The same holds for the pairs. A
-- condition on pairs that are null or empty would read the whole index, so there are two statements. OFFSET
-- 0 and coalesce keep the planner from choosing another way.
DROP FUNCTION skein.find(text, tsquery, bigint, bigint, text, text, int);
CREATE FUNCTION skein.find(
  _tenant text, _match tsquery, _pairs smallint[], _from bigint, _upto bigint, _directory text, _kind text, _limit int
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
      SELECT n.conv, n.seq, n.at, n.tsv, n.pairs FROM skein.search n
      WHERE n.tenant = _tenant AND n.at > _lo AND n.at <= _hi ORDER BY n.at DESC OFFSET 0) s
    JOIN LATERAL (
      SELECT FROM skein.conversations c WHERE c.tenant = _tenant AND c.id = s.conv AND coalesce(c.trashed_at, -1) < 0
        AND (_directory IS NULL OR c.directory = _directory) AND (_kind IS NULL OR c.kind = _kind)
      OFFSET 0) c ON true
    WHERE s.tsv @@ _match AND (_pairs IS NULL OR s.pairs @> _pairs) ORDER BY s.at DESC LIMIT _left;
  GET DIAGNOSTICS _found = ROW_COUNT;
  _left := _left - _found;
  WHILE _left > 0 AND _lo >= _oldest LOOP
    _hi := _lo;
    IF _width IS NULL THEN
      -- By number of entries: nothing is known about their times yet.
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
      -- If there is only one tenant, its mark excludes nothing.
      SELECT CASE WHEN min(s.tenant) = max(s.tenant) THEN _match ELSE ('''' || _mark || '''')::tsquery END
        INTO _second FROM skein.search s;
    END IF;
    IF _pairs IS NULL THEN
      RETURN QUERY
        SELECT s.conv, s.seq, s.at
        FROM (
          -- || '' and + 0 hide these columns from the planner: only the index of pairs and words may serve.
          SELECT n.conv, n.seq, n.at FROM skein.search n
          WHERE n.tsv @@ _first AND n.tsv @@ _second
            AND n.tenant || '' = _tenant AND n.at + 0 > _lo AND n.at + 0 <= _hi
          ORDER BY n.at DESC OFFSET 0) s
        JOIN LATERAL (
          SELECT FROM skein.conversations c WHERE c.tenant = _tenant AND c.id = s.conv AND coalesce(c.trashed_at, -1) < 0
            AND (_directory IS NULL OR c.directory = _directory) AND (_kind IS NULL OR c.kind = _kind)
          OFFSET 0) c ON true
        ORDER BY s.at DESC LIMIT _left;
    ELSE
      RETURN QUERY
        SELECT s.conv, s.seq, s.at
        FROM (
          SELECT n.conv, n.seq, n.at FROM skein.search n
          WHERE n.tsv @@ _first AND n.tsv @@ _second AND n.pairs @> _pairs
            AND n.tenant || '' = _tenant AND n.at + 0 > _lo AND n.at + 0 <= _hi
          ORDER BY n.at DESC OFFSET 0) s
        JOIN LATERAL (
          SELECT FROM skein.conversations c WHERE c.tenant = _tenant AND c.id = s.conv AND coalesce(c.trashed_at, -1) < 0
            AND (_directory IS NULL OR c.directory = _directory) AND (_kind IS NULL OR c.kind = _kind)
          OFFSET 0) c ON true
        ORDER BY s.at DESC LIMIT _left;
    END IF;
    GET DIAGNOSTICS _found = ROW_COUNT;
    _left := _left - _found;
  END LOOP;
END $$;
`,
  },
]
