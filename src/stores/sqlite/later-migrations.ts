import type { Migration } from '../engine/schema.ts'

/** Append only, as `migrations.ts`, which contains the first versions. */
export const laterMigrations: readonly Migration[] = [
  {
    version: 10,
    name: 'large blobs in parts',
    // Without it, a file that cannot be written has no blobs in parts: writing one throws ReadOnlyError.
    isOptional: true,
    sql: `
-- The bytes of a large blob, whose row in skein_blobs has its size and no data.
CREATE TABLE skein_blob_parts (
  hash TEXT NOT NULL REFERENCES skein_blobs(hash),
  part INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (hash, part)
) STRICT;
-- A trigger also works on a handle without foreign keys, and for a process of an older version, which does
-- not know the table.
CREATE TRIGGER skein_blobs_deleted AFTER DELETE ON skein_blobs BEGIN
  DELETE FROM skein_blob_parts WHERE hash = OLD.hash;
END;
`,
  },
]
