/** Columns and conditions that several queries share. */

export const branchColumns = `
  b.name, b.head_seq, b.head_id, b.head_run, b.head_depth, b.head_path_tokens, b.key, b.former_key,
  b.trashed_key, b.title, b.created_at, b.updated_at`

/** The time of leases. See `LeaseClock`. */
export const leaseNow = `coalesce(@server_now::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)`

/** The end of a lease, from the time of the client to that of the server. */
export const leaseToStore = `@lease_until::bigint - @client_now::bigint + ${leaseNow}`

/** The end of a lease, from the time of the server to that of the client. */
export const leaseToRead = (column: string) => `${column} - ${leaseNow} + @client_now::bigint AS lease_until`

/** Of a turn `t`. */
export const turnColumns = `
  t.key, t.branch, t.first, t.last, t.last_step, t.status, t.model, t.prompt_hash, t.usage, t.holder,
  ${leaseToRead('t.lease_until')},
  t.started_at, t.ended_at`

export const messageColumns = `
  m.id, m.seq, m.role, m.at, m.tokens, m.turn, m.step, m.label, m.body, m.erased, m.parent_seq, m.depth, m.path_tokens`

/** Finds a conversation by id. Written so that the planner does not recognise the condition of a partial
 *  index: on a new table it would read all of that index instead of one row by the primary key. */
export const notTrashed = `coalesce(c.trashed_at, -1) < 0`

/** A message with the ids of its conversation and its parent. */
export const looseColumns = `${messageColumns},
  m.conv AS conversation_id,
  (SELECT p.id FROM skein.messages p WHERE p.tenant = @tenant::text AND p.conv = m.conv AND p.seq = m.parent_seq)
    AS parent_id`

/** The message at a seq of the conversation, with a fixed plan. */
export const at = (columns: string, seq: string, conv = '@conv::uuid') => `
  LATERAL (
    SELECT ${columns} FROM skein.messages x WHERE x.tenant = @tenant::text AND x.conv = ${conv} AND x.seq = ${seq}
    OFFSET 0)`

/** A range of a conversation's messages, or of rows that belong to them. */
export const span = `tenant = @tenant::text AND conv = @conv::uuid AND seq BETWEEN @lo::int AND @hi::int`

/** For the search entries of a conversation: prevents the use of the index by time, which begins with the
 *  tenant and would be read completely. */
export const hiddenTenant = `tenant || '' = @tenant::text`

/** The head and the conversation of a branch, which is named by its key, or by its conversation and name. */
export const namedBranch = `(
    SELECT head_id, conv FROM skein.branches WHERE tenant = @tenant::text AND key = @key::text
    UNION ALL
    SELECT head_id, conv FROM skein.branches
    WHERE tenant = @tenant::text AND conv = @id::uuid AND name = @name::text)`
