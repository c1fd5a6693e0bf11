/** Columns and conditions that several queries share. */

export const branchColumns = `
  b.name, b.head_seq, b.head_id, b.head_run, b.head_depth, b.head_path_tokens, b.key, b.former_key,
  b.trashed_key, b.title, b.created_at, b.updated_at`

export const pathColumns = `
  m.id, m.seq, m.role, m.at, m.tokens, m.turn, m.step, m.label, m.body, m.erased`

export const messageColumns = `${pathColumns}, m.parent_seq, m.depth, m.path_tokens`

/** Where a conversation is found by its id. Written so that the planner cannot see in it what a partial index
 *  is about: on a new table it would rather read all of that index than one row by the primary key. */
export const notTrashed = `coalesce(c.trashed_at, -1) < 0`

/** A message by itself, with the ids around it. */
export const looseColumns = `${messageColumns},
  m.conv AS conversation_id,
  (SELECT p.id FROM skein.messages p WHERE p.tenant = @tenant::text AND p.conv = m.conv AND p.seq = m.parent_seq)
    AS parent_id`

/** The message at a seq of the conversation, whatever the planner thinks of it. */
export const at = (columns: string, seq: string, conv = '@conv::uuid') => `
  LATERAL (
    SELECT ${columns} FROM skein.messages x WHERE x.tenant = @tenant::text AND x.conv = ${conv} AND x.seq = ${seq}
    OFFSET 0)`

/** A stretch of a conversation's messages, or of what hangs on them. */
export const span = `tenant = @tenant::text AND conv = @conv::uuid AND seq BETWEEN @lo::int AND @hi::int`

/** For search entries of a conversation: leaves the planner no use for the index by time, which begins with the
 *  tenant and would be read from end to end. */
export const hiddenTenant = `tenant || '' = @tenant::text`
