import type { Queries } from '../../engine/query.ts'
import { notTrashed } from './columns.ts'
import { lock } from './conversations.ts'

export const forkQueries = {
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
