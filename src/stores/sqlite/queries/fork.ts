import type { Queries } from '../../engine/query.ts'

export const forkQueries = {
  // By the ids' own indexes, in this order.
  insertFork: `
    INSERT INTO skein_branches (
      conv, name, head_seq, head_id, head_run, head_depth, head_path_tokens, title, created_at, updated_at)
    SELECT m.conv, @name, m.seq, m.id, m.run, m.depth, m.path_tokens, @title, @now, @now
    FROM skein_messages m CROSS JOIN skein_conversations c ON c.c = m.conv
    WHERE m.id = @at AND c.id = @id AND c.trashed_at IS NULL
    ON CONFLICT (conv, name) DO NOTHING`,
  bumpVersionOf: `UPDATE skein_conversations SET version = version + 1 WHERE id = @id`,
} satisfies Partial<Queries>
