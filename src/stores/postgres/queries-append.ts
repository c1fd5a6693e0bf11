import { notTrashed } from './columns.ts'

/** The append for the plain case: one statement that locks, checks and writes all, or writes nothing and
 *  returns no row. Waiting for the lock, PostgreSQL reads the locked rows anew and checks them again; what
 *  is not locked is as old as the statement, so nothing is decided by it that a writer could have changed
 *  without moving the head. Two racers for one turn key, or one id, meet at the unique index. */
function append({ join = '', lock = '', check, turn, write }: Variant): string {
  return `
WITH s AS MATERIALIZED (
  SELECT c.next_seq AS base, b.head_seq, b.head_depth, b.head_path_tokens, ${turn} AS turn,
    CASE WHEN b.head_id IS NOT NULL AND b.head_seq = c.next_seq - 1 THEN b.head_run ELSE c.next_seq END AS run
  FROM skein.conversations c
  JOIN skein.branches b ON b.tenant = @tenant::text AND b.conv = @conv::uuid AND b.name = @name::text
  ${join}
  WHERE c.tenant = @tenant::text AND c.id = @conv::uuid AND ${notTrashed}
    AND b.head_id IS NOT DISTINCT FROM @expected::text
    AND ${check}
  FOR NO KEY UPDATE OF c, b${lock}
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
  FROM s WHERE c.tenant = @tenant::text AND c.id = @conv::uuid
),
b AS (
  UPDATE skein.branches b SET
    head_seq = s.base + @count::int - 1, head_id = @head::text, head_run = s.run,
    head_depth = s.head_depth + @count::int, head_path_tokens = s.head_path_tokens + @sum::bigint,
    updated_at = greatest(b.updated_at, @now::bigint)
  FROM s WHERE b.tenant = @tenant::text AND b.conv = @conv::uuid AND b.name = @name::text
)${write},
m AS (
  INSERT INTO skein.messages (
    tenant, conv, seq, parent_seq, run, depth, tokens, turn, path_tokens, at, step, id, role, label, body_hash,
    body)
  SELECT @tenant::text, @conv::uuid, s.base + u.n::int - 1,
    CASE u.n WHEN 1 THEN s.head_seq ELSE s.base + u.n::int - 2 END, s.run, s.head_depth + u.n::int, u.tokens,
    s.turn, s.head_path_tokens + u.sum, u.at, ${turn === 'NULL::int' ? 'NULL' : '@step::int'}, u.id, u.role,
    u.label, decode(u.hash, 'hex'), u.body
  FROM s, unnest(
    @ids::text[], @roles::text[], @times::bigint[], @tokens::int[], @sums::bigint[], @labels::text[],
    @hashes::text[], @bodies::text[]
  ) WITH ORDINALITY AS u(id, role, at, tokens, sum, label, hash, body, n)
)
SELECT base FROM s`
}

interface Variant {
  /** A row that must be there besides, and is locked. */
  readonly join?: string
  readonly lock?: string
  readonly check: string
  /** The first seq of the turn. */
  readonly turn: string
  /** What else is written. */
  readonly write: string
}

const nobodyElse = (but: string) => `NOT EXISTS (
      SELECT FROM skein.turns o
      WHERE o.tenant = @tenant::text AND o.conv = @conv::uuid AND o.branch = @name::text AND o.status = 'open'${but})`

export const appendOutsideTurns = append({ check: nobodyElse(''), turn: 'NULL::int', write: '' })

/** The first step of a turn. */
export const openTurn = append({
  check: `${nobodyElse('')}
    AND NOT EXISTS (
      SELECT FROM skein.turns t
      WHERE t.tenant = @tenant::text AND t.conv = @conv::uuid AND t.key = @key::text)`,
  turn: 'c.next_seq',
  write: `,
t AS (
  INSERT INTO skein.turns (
    tenant, conv, key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until,
    started_at, ended_at)
  SELECT @tenant::text, @conv::uuid, @key::text, @name::text, s.base, s.base + @count::int - 1, @step::int,
    @status::text, @model::text, @prompt_hash::text, @usage::text, @holder::text, @lease_until::bigint,
    @now::bigint, @ended_at::bigint
  FROM s
)`,
})

/** A further step of a turn that is open. Usage adds up kind by kind; one that nobody reported stays absent. */
export const continueTurn = append({
  join: `JOIN skein.turns t ON t.tenant = @tenant::text AND t.conv = @conv::uuid AND t.key = @key::text`,
  lock: ', t',
  check: `${nobodyElse(' AND o.key <> @key::text')}
    AND t.status = 'open' AND t.branch = @name::text AND t.last_step < @step::int
    AND t.holder IS NOT DISTINCT FROM @holder::text`,
  turn: 't.first',
  write: `,
t AS (
  UPDATE skein.turns t SET
    last = s.base + @count::int - 1, last_step = @step::int, status = @status::text,
    model = coalesce(@model::text, t.model), prompt_hash = coalesce(@prompt_hash::text, t.prompt_hash),
    usage = CASE WHEN @usage::text = '{}' THEN t.usage ELSE (
      SELECT t.usage::jsonb || jsonb_object_agg(
        w.kind, coalesce((t.usage::jsonb ->> w.kind)::float8, 0) + (@usage::text::jsonb ->> w.kind)::float8)
      FROM jsonb_object_keys(@usage::text::jsonb) AS w(kind))::text END,
    lease_until = @lease_until::bigint, ended_at = @ended_at::bigint
  FROM s WHERE t.tenant = @tenant::text AND t.conv = @conv::uuid AND t.key = @key::text
),
d AS (
  DELETE FROM skein.drafts d USING s
  WHERE d.tenant = @tenant::text AND d.conv = @conv::uuid AND d.turn = @key::text
)`,
})
