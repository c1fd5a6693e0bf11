import { leaseToStore, notTrashed } from './columns.ts'

/** The append for the ordinary case: one statement that checks and writes everything. If a check fails, it
 *  writes nothing and returns no row. If that only shows while it writes, `skein.lost_race` undoes it.
 *
 *  It updates the conversation first, which is the lock of every writer. After waiting for the lock,
 *  PostgreSQL reads the updated row again and checks it again; the same holds for the branch and the turn.
 *  Rows that are only read (p) are as old as the statement. They contain nothing that the head's id does
 *  not determine. A turn opened meanwhile shows in the head. Two racers for one turn key or one id meet at
 *  the unique index. */
function append({ check = '', turn, step, write, written }: Variant): string {
  return `
WITH p AS MATERIALIZED (
  SELECT b.head_seq, b.head_run, b.head_depth, b.head_path_tokens FROM skein.branches b
  WHERE b.tenant = @tenant::text AND b.conv = @conv::uuid AND b.name = @name::text
    AND b.head_id IS NOT DISTINCT FROM @expected::text
    ${check}
),
c AS (
  UPDATE skein.conversations c SET
    next_seq = c.next_seq + @count::int, messages = c.messages + @count::int, tokens = c.tokens + @sum::bigint,
    tokens_used = c.tokens_used + @used::bigint, cost = c.cost + @cost::float8,
    title_folded = CASE WHEN c.title IS NULL THEN @title_folded::text ELSE c.title_folded END,
    title = coalesce(c.title, @title::text),
    updated_at = greatest(c.updated_at, @now::bigint),
    expires_at = CASE
      WHEN c.ttl_ms IS NOT NULL THEN @now::bigint + c.ttl_ms
      WHEN c.expires_at <= @now::bigint THEN @now::bigint + c.renew_ms
      ELSE c.expires_at END,
    version = c.version + 1
  FROM p WHERE c.tenant = @tenant::text AND c.id = @conv::uuid AND ${notTrashed}
  RETURNING c.next_seq - @count::int AS base
),
b AS (
  UPDATE skein.branches b SET
    head_seq = c.base + @count::int - 1, head_id = @head::text,
    head_run = CASE WHEN b.head_id IS NOT NULL AND b.head_seq = c.base - 1 THEN b.head_run ELSE c.base END,
    head_depth = b.head_depth + @count::int, head_path_tokens = b.head_path_tokens + @sum::bigint,
    updated_at = greatest(b.updated_at, @now::bigint)
  FROM c
  WHERE b.tenant = @tenant::text AND b.conv = @conv::uuid AND b.name = @name::text
    AND b.head_id IS NOT DISTINCT FROM @expected::text
  RETURNING b.tenant, c.base, b.head_run AS run
)${write},
m AS (
  INSERT INTO skein.messages (
    tenant, conv, seq, parent_seq, run, depth, tokens, turn, path_tokens, at, step, id, role, label, body_hash,
    body)
  SELECT w.tenant, @conv::uuid, w.base + u.n::int - 1,
    CASE u.n WHEN 1 THEN p.head_seq ELSE w.base + u.n::int - 2 END, w.run, p.head_depth + u.n::int, u.tokens,
    ${turn}, p.head_path_tokens + u.sum, u.at, ${step}, u.id, u.role, u.label, u.hash, u.body
  FROM ${written} w CROSS JOIN p CROSS JOIN unnest(
    @ids::text[], @roles::text[], @times::bigint[], @tokens::int[], @sums::bigint[], @labels::text[],
    @hashes::bytea[], @bodies::text[]
  ) WITH ORDINALITY AS u(id, role, at, tokens, sum, label, hash, body, n)
)
SELECT coalesce(w.base, skein.lost_race()) AS base FROM c LEFT JOIN ${written} w ON true`
}

interface Variant {
  /** Additional conditions. */
  readonly check?: string
  /** The first seq of the turn, and the step. */
  readonly turn: string
  readonly step: string
  /** Additional writes. */
  readonly write: string
  /** The last of the writes that must have happened. */
  readonly written: 'b' | 't'
}

const nobodyElse = (but: string) => `AND NOT EXISTS (
      SELECT FROM skein.turns o
      WHERE o.tenant = @tenant::text AND o.conv = @conv::uuid AND o.branch = @name::text AND o.status = 'open'${but})`

export const appendOutsideTurnsSql = append({
  check: nobodyElse(''),
  turn: 'NULL',
  step: 'NULL',
  write: '',
  written: 'b',
})

/** The first step of a turn. */
export const openTurnSql = append({
  check: nobodyElse(''),
  turn: 'w.base',
  step: '@step::int',
  write: `,
t AS (
  INSERT INTO skein.turns (
    tenant, conv, key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until,
    started_at, ended_at)
  SELECT b.tenant, @conv::uuid, @key::text, @name::text, b.base, b.base + @count::int - 1, @step::int,
    @status::text, @model::text, @prompt_hash::text, @usage::text, @holder::text, ${leaseToStore},
    @now::bigint, @ended_at::bigint
  FROM b
)`,
  written: 'b',
})

const isMine = `t.tenant = @tenant::text AND t.conv = @conv::uuid AND t.key = @key::text AND t.status = 'open'
    AND t.branch = @name::text AND t.last_step < @step::int AND t.holder IS NOT DISTINCT FROM @holder::text`

/** A further step of an open turn. Usage is added by kind. A kind that was not reported stays absent. */
export const continueTurnSql = append({
  check: `${nobodyElse(' AND o.key <> @key::text')}
    AND EXISTS (SELECT FROM skein.turns t WHERE ${isMine})`,
  turn: 'w.first',
  step: '@step::int',
  write: `,
t AS (
  UPDATE skein.turns t SET
    last = b.base + @count::int - 1, last_step = @step::int, status = @status::text,
    model = coalesce(@model::text, t.model), prompt_hash = coalesce(@prompt_hash::text, t.prompt_hash),
    usage = CASE WHEN @usage::text = '{}' THEN t.usage ELSE (
      SELECT t.usage::jsonb || jsonb_object_agg(
        w.kind, coalesce((t.usage::jsonb ->> w.kind)::float8, 0) + (@usage::text::jsonb ->> w.kind)::float8)
      FROM jsonb_object_keys(@usage::text::jsonb) AS w(kind))::text END,
    lease_until = ${leaseToStore}, ended_at = @ended_at::bigint
  FROM b WHERE ${isMine}
  RETURNING t.tenant, b.base, b.run, t.first
),
d AS (
  DELETE FROM skein.drafts d USING t
  WHERE d.tenant = @tenant::text AND d.conv = @conv::uuid AND d.turn = @key::text
)`,
  written: 't',
})
