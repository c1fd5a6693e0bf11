import type { Migration } from '../engine/schema.ts'

/** Append only, as `migrations.ts`, which contains the first version. These follow `later-migrations.ts`. */
export const newerMigrations: readonly Migration[] = [
  {
    version: 12,
    name: 'ranked searches',
    // The same function in two thirds of the time for 2,000 hits. Processes of an older version may call it.
    // - The words are the first condition and the stretch the second one: the index then computes the next
    //   message with all words, and not each message of the stretch. With pairs, which are rarer, the stretch
    //   remains before the words: that takes a fifth less.
    // - Few conversations are in the trash. They are read once, instead of the conversation of each hit.
    // - After many hits, the length of the next stretch is estimated from them without a large surplus.
    sql: `
-- The newest entries that match and have all pairs, if pairs are given. A word in every second message and
-- one in none must both be quick, so it works backwards in stretches of time: the newest entries are read one
-- by one, then the index is asked for one stretch after another. The length of a stretch follows from the hits
-- in the one before. After a stretch without hits the word is rare, and the whole rest is asked for at once.
-- The words and the stretch are two conditions: the index then skips to the next place where both can hold;
-- with one condition it would read the whole list of its rarest word. The same holds for the pairs. A
-- condition on pairs that are null or empty would read the whole index, so there are two statements. OFFSET
-- 0 and coalesce keep the planner from choosing another way.
CREATE OR REPLACE FUNCTION skein.find(
  _tenant text, _match tsquery, _pairs smallint[], _from bigint, _upto bigint, _directory text, _kind text, _limit int
) RETURNS TABLE (conv uuid, seq int, at bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
  _newest CONSTANT int := 128;
  _levels CONSTANT int[] := ARRAY[10, 15, 20, 25, 30, 35];
  _mark text := skein.mark('b', _tenant);
  _trashed uuid[];
  _check boolean; -- whether to look up the conversation of each hit
  _oldest bigint;
  _lo bigint; -- the last moment before the stretch
  _hi bigint; -- the last one in it
  _width bigint;
  _bits int;
  _stretch tsquery;
  _left int := _limit;
  _found int;
BEGIN
  IF _directory IS NOT NULL THEN
    _match := _match && ('''' || skein.mark('d', _directory) || '''')::tsquery;
  END IF;
  IF _kind IS NOT NULL THEN _match := _match && ('''=k' || _kind || '''')::tsquery; END IF;
  _trashed := ARRAY(
    SELECT c.id FROM skein.conversations c WHERE c.tenant = _tenant AND c.trashed_at IS NOT NULL
    ORDER BY c.trashed_at LIMIT 101);
  _check := _directory IS NOT NULL OR _kind IS NOT NULL OR cardinality(_trashed) > 100;
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
    WHERE s.tsv @@ _match AND (_pairs IS NULL OR s.pairs @> _pairs)
      AND s.conv NOT IN (SELECT unnest(_trashed)) AND (NOT _check OR EXISTS (
        SELECT FROM skein.conversations c WHERE c.tenant = _tenant AND c.id = s.conv AND coalesce(c.trashed_at, -1) < 0
          AND (_directory IS NULL OR c.directory = _directory) AND (_kind IS NULL OR c.kind = _kind)))
    ORDER BY s.at DESC LIMIT _left;
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
    ELSIF _found < 256 THEN
      _lo := greatest(_oldest - 1, _hi - _width * least(16, greatest(2, _left * 3 / (_found * 2))));
    ELSE
      _lo := greatest(_oldest - 1, _hi - _width * least(16 * _found, _left + _left / 16 + 1) / _found - 1);
    END IF;
    SELECT min(b) INTO _bits FROM unnest(_levels) b WHERE (_hi >> b) - ((_lo + 1) >> b) < 32;
    -- To the beginning of a mark, whose other entries would be read and rejected.
    IF _bits IS NOT NULL THEN _lo := greatest(_oldest - 1, (((_lo + 1) >> _bits) << _bits) - 1); END IF;
    _width := greatest(1, _hi - _lo);
    IF _lo >= _oldest AND _bits IS NOT NULL THEN
      SELECT string_agg('''' || _mark || '/' || _bits || '/' || to_hex(n) || '''', '|')::tsquery
        INTO _stretch FROM generate_series((_lo + 1) >> _bits, _hi >> _bits) n;
    ELSE
      -- If there is only one tenant, its mark excludes nothing.
      SELECT CASE WHEN min(s.tenant) = max(s.tenant) THEN _match ELSE ('''' || _mark || '''')::tsquery END
        INTO _stretch FROM skein.search s;
    END IF;
    IF _pairs IS NULL THEN
      RETURN QUERY
        SELECT s.conv, s.seq, s.at
        FROM (
          -- || '' and + 0 hide these columns from the planner: only the index of pairs and words may serve.
          SELECT n.conv, n.seq, n.at FROM skein.search n
          WHERE n.tsv @@ _match AND n.tsv @@ _stretch
            AND n.tenant || '' = _tenant AND n.at + 0 > _lo AND n.at + 0 <= _hi
          ORDER BY n.at DESC OFFSET 0) s
        WHERE s.conv NOT IN (SELECT unnest(_trashed)) AND (NOT _check OR EXISTS (
          SELECT FROM skein.conversations c WHERE c.tenant = _tenant AND c.id = s.conv AND coalesce(c.trashed_at, -1) < 0
            AND (_directory IS NULL OR c.directory = _directory) AND (_kind IS NULL OR c.kind = _kind)))
        ORDER BY s.at DESC LIMIT _left;
    ELSE
      RETURN QUERY
        SELECT s.conv, s.seq, s.at
        FROM (
          SELECT n.conv, n.seq, n.at FROM skein.search n
          WHERE n.tsv @@ _stretch AND n.tsv @@ _match AND n.pairs @> _pairs
            AND n.tenant || '' = _tenant AND n.at + 0 > _lo AND n.at + 0 <= _hi
          ORDER BY n.at DESC OFFSET 0) s
        WHERE s.conv NOT IN (SELECT unnest(_trashed)) AND (NOT _check OR EXISTS (
          SELECT FROM skein.conversations c WHERE c.tenant = _tenant AND c.id = s.conv AND coalesce(c.trashed_at, -1) < 0
            AND (_directory IS NULL OR c.directory = _directory) AND (_kind IS NULL OR c.kind = _kind)))
        ORDER BY s.at DESC LIMIT _left;
    END IF;
    GET DIAGNOSTICS _found = ROW_COUNT;
    _left := _left - _found;
  END LOOP;
END $$;
`,
  },
]
