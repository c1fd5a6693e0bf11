/** Columns that several queries read, in the shape of their rows. */

export const branchColumns = `
  b.name, b.head_seq, b.head_id, b.head_run, b.head_depth, b.head_path_tokens, b.key, b.former_key, b.trashed_key, b.title,
  b.created_at, b.updated_at`

/** Of a turn `t`. */
export const turnColumns = `
  t.key, t.branch, t.first, t.last, t.last_step, t.status, t.model, t.prompt_hash, t.usage, t.holder, t.lease_until,
  t.started_at, t.ended_at`

export const messageColumns = `
  m.id, m.seq, m.role, m.at, m.tokens, m.turn, m.step, m.label, m.body, m.erased, m.parent_seq, m.depth, m.path_tokens`

/** A message with the ids of its conversation and its parent. */
export const looseColumns = `${messageColumns},
  (SELECT c.id FROM skein_conversations c WHERE c.c = m.conv) AS conversation_id,
  (SELECT p.id FROM skein_messages p WHERE p.conv = m.conv AND p.seq = m.parent_seq) AS parent_id`

/** The head and the conversation of a branch, which is named by its key, or by its conversation and name. */
export const namedBranch = `(
    SELECT head_id, conv FROM skein_branches WHERE key = @key
    UNION ALL
    SELECT x.head_id, x.conv FROM skein_conversations c CROSS JOIN skein_branches x
    ON x.conv = c.c AND x.name = @name WHERE c.id = @id)`
