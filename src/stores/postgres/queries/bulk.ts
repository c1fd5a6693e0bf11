import type { StatementName } from '../../engine/statements.ts'

/** Inserts of many rows at once. Each parameter is the list of the values that consecutive calls of the
 *  statement have, so one execution does the work of all. The rows have different keys. */
export const bulkQueries: { readonly [N in StatementName]?: string } = {
  insertMessageRecord: `
    INSERT INTO skein.messages (
      tenant, conv, seq, parent_seq, run, depth, tokens, turn, path_tokens, at, step, id, role, label, body_hash,
      body, erased)
    SELECT @tenant::text, u.conv::uuid, u.seq, u.parent_seq, u.run, u.depth, u.tokens, u.turn, u.path_tokens, u.at,
      u.step, u.id, u.role, u.label, decode(u.body_hash, 'hex'), u.body, u.erased
    FROM unnest(
      @conv::text[], @seq::int[], @parent_seq::int[], @run::int[], @depth::int[], @tokens::int[], @turn::int[],
      @path_tokens::bigint[], @at::bigint[], @step::int[], @id::text[], @role::text[], @label::text[],
      @body_hash::text[], @body::text[], @erased::text[]
    ) AS u(
      conv, seq, parent_seq, run, depth, tokens, turn, path_tokens, at, step, id, role, label, body_hash, body, erased)`,
  // A turn is only written again after its drafts were deleted, in another execution.
  putTurnRecord: `
    INSERT INTO skein.turns (
      tenant, conv, key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until,
      started_at, ended_at)
    SELECT @tenant::text, u.conv::uuid, u.key, u.branch, u.first, u.last, u.last_step, u.status, u.model,
      u.prompt_hash, u.usage, u.holder, u.lease_until, u.started_at, u.ended_at
    FROM unnest(
      @conv::text[], @key::text[], @branch::text[], @first::int[], @last::int[], @last_step::int[],
      @status::text[], @model::text[], @prompt_hash::text[], @usage::text[], @holder::text[],
      @lease_until::bigint[], @started_at::bigint[], @ended_at::bigint[]
    ) AS u(
      conv, key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until, started_at,
      ended_at)
    ON CONFLICT (tenant, conv, key) DO UPDATE SET
      branch = excluded.branch, first = excluded.first, last = excluded.last, last_step = excluded.last_step,
      status = excluded.status, model = excluded.model, prompt_hash = excluded.prompt_hash, usage = excluded.usage,
      holder = excluded.holder, lease_until = excluded.lease_until, started_at = excluded.started_at,
      ended_at = excluded.ended_at`,
  insertEvent: `
    INSERT INTO skein.events (tenant, conv, n, type, at, data)
    SELECT @tenant::text, u.conv::uuid, u.n, u.type, u.at, u.data
    FROM unnest(@conv::text[], @n::int[], @type::text[], @at::bigint[], @data::text[])
      AS u(conv, n, type, at, data)`,
}
