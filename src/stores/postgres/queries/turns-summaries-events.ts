import type { Queries } from '../../engine/statements.ts'
import { leaseToRead, leaseToStore, namedBranch } from './columns.ts'

const turnColumns = `
  key, branch, first, last, last_step, status, model, prompt_hash, usage, holder,
  ${leaseToRead('lease_until')}, started_at, ended_at`

const summaryColumns = `
  last_seq, first_seq, last_id, first_id, model, tokens, text, checksum, holder,
  ${leaseToRead('lease_until')}, created_at`

const inConv = `tenant = @tenant::text AND conv = @conv::uuid`

/** `stopped` and `open` are the conditions of partial indexes. */
const turnFilters = {
  any: `(@status::text IS NULL OR status = @status::text)`,
  stopped: `status = @status::text AND (status = 'interrupted' OR status = 'failed')`,
  open: `status = 'open'`,
}

function listTurns(filter: keyof typeof turnFilters, order: 'ASC' | 'DESC'): string {
  return `
    SELECT ${turnColumns} FROM skein.turns
    WHERE ${inConv} AND first > @above::int AND first < @below::int AND ${turnFilters[filter]}
    ORDER BY first ${order} LIMIT @limit::bigint`
}

/** Turns, drafts, summaries and events. */
export const turnQueries = {
  turn: `SELECT ${turnColumns} FROM skein.turns WHERE ${inConv} AND key = @key::text`,
  listTurns: listTurns('any', 'ASC'),
  listTurnsDown: listTurns('any', 'DESC'),
  listStoppedTurns: listTurns('stopped', 'ASC'),
  listStoppedTurnsDown: listTurns('stopped', 'DESC'),
  listOpenTurns: listTurns('open', 'ASC'),
  listOpenTurnsDown: listTurns('open', 'DESC'),
  openTurns: `
    SELECT ${turnColumns} FROM skein.turns WHERE ${inConv} AND status = 'open' ORDER BY first`,
  openTurnOn: `
    SELECT ${turnColumns} FROM skein.turns WHERE ${inConv} AND branch = @name::text AND status = 'open'`,
  stepMessages: `
    SELECT seq, id, role, body_hash FROM skein.messages
    WHERE ${inConv} AND seq BETWEEN @first::int AND @last::int AND turn = @first::int AND step = @step::int
    ORDER BY seq`,
  insertTurn: `
    INSERT INTO skein.turns (
      tenant, conv, key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until,
      started_at, ended_at)
    VALUES (
      @tenant::text, @conv::uuid, @key::text, @branch::text, @first::int, @last::int, @last_step::int,
      @status::text, @model::text, @prompt_hash::text, @usage::text, @holder::text, ${leaseToStore},
      @now::bigint, @ended_at::bigint)`,
  updateTurn: `
    UPDATE skein.turns SET last = @last::int, last_step = @last_step::int, status = @status::text,
      model = @model::text, prompt_hash = @prompt_hash::text, usage = @usage::text,
      lease_until = ${leaseToStore}, ended_at = @ended_at::bigint
    WHERE ${inConv} AND key = @key::text`,
  renewTurn: `
    UPDATE skein.turns SET lease_until = ${leaseToStore} WHERE ${inConv} AND key = @key::text`,
  turnEndingAt: `
    SELECT ${turnColumns} FROM skein.turns
    WHERE ${inConv} AND branch = @name::text AND last = @seq::int
      AND first = (SELECT m.turn FROM skein.messages m
        WHERE m.tenant = @tenant::text AND m.conv = @conv::uuid AND m.seq = @seq::int)`,
  reopenTurn: `
    UPDATE skein.turns
    SET status = 'open', holder = @holder::text, lease_until = ${leaseToStore}, ended_at = NULL
    WHERE ${inConv} AND key = @key::text`,
  drafts: `SELECT n, type, text FROM skein.drafts WHERE ${inConv} AND turn = @turn::text ORDER BY n`,
  draftsAfter: `
    SELECT n, type, text FROM skein.drafts
    WHERE ${inConv} AND turn = @turn::text AND n > @after::int ORDER BY n LIMIT @limit::bigint`,
  lastDraft: `
    SELECT n FROM skein.drafts WHERE ${inConv} AND turn = @turn::text ORDER BY n DESC LIMIT 1`,
  insertDraft: `
    INSERT INTO skein.drafts (tenant, conv, turn, n, type, text)
    VALUES (@tenant::text, @conv::uuid, @turn::text, @n::int, @type::text, @text::text)`,
  deleteDrafts: `DELETE FROM skein.drafts WHERE ${inConv} AND turn = @turn::text`,

  summary: `
    SELECT ${summaryColumns} FROM skein.summaries
    WHERE ${inConv} AND last_seq = @last_seq::int AND first_seq = @first_seq::int`,
  summaries: `
    SELECT ${summaryColumns} FROM skein.summaries WHERE ${inConv} ORDER BY last_seq, first_seq`,
  listSummaries: `
    SELECT ${summaryColumns} FROM skein.summaries
    WHERE ${inConv} AND text IS NOT NULL AND (last_seq, first_seq) > (@last_seq::int, @first_seq::int)
    ORDER BY last_seq, first_seq LIMIT @limit::bigint`,
  listSummariesDown: `
    SELECT ${summaryColumns} FROM skein.summaries
    WHERE ${inConv} AND text IS NOT NULL AND (last_seq, first_seq) < (@last_seq::int, @first_seq::int)
    ORDER BY last_seq DESC, first_seq DESC LIMIT @limit::bigint`,
  summariesOfBranch: `
    SELECT ${summaryColumns} FROM skein.summaries
    WHERE tenant = @tenant::text AND conv = (SELECT b.conv FROM ${namedBranch} b) AND text IS NOT NULL
    ORDER BY last_seq DESC, first_seq DESC LIMIT @limit::bigint`,
  claimSummary: `
    INSERT INTO skein.summaries (
      tenant, conv, last_seq, first_seq, last_id, first_id, holder, lease_until, created_at)
    VALUES (
      @tenant::text, @conv::uuid, @last_seq::int, @first_seq::int, @last_id::text, @first_id::text,
      @holder::text, ${leaseToStore}, @now::bigint)
    ON CONFLICT (tenant, conv, last_seq, first_seq) DO UPDATE SET
      holder = excluded.holder, lease_until = excluded.lease_until`,
  putSummary: `
    UPDATE skein.summaries SET model = @model::text, tokens = @tokens::int, text = @text::text,
      checksum = @checksum::text, holder = NULL, lease_until = NULL, created_at = @now::bigint
    WHERE ${inConv} AND last_seq = @last_seq::int AND first_seq = @first_seq::int`,
  deleteSummaries: `
    DELETE FROM skein.summaries WHERE ${inConv} AND last_seq BETWEEN @lo::int AND @hi::int`,
  deleteSummary: `
    DELETE FROM skein.summaries
    WHERE ${inConv} AND last_seq = @last_seq::int AND first_seq = @first_seq::int`,
  insertEvent: `
    INSERT INTO skein.events (tenant, conv, n, type, at, data)
    VALUES (@tenant::text, @conv::uuid, @n::int, @type::text, @at::bigint, @data::text)`,
  setNextEvent: `
    UPDATE skein.conversations SET next_event = @next_event::int, version = version + 1
    WHERE tenant = @tenant::text AND id = @conv::uuid`,
  setEventData: `UPDATE skein.events SET data = @data::text WHERE ${inConv} AND n = @n::int`,
  events: `
    SELECT n, type, at, data FROM skein.events
    WHERE ${inConv} AND n > @after::int AND (@types::text[] IS NULL OR type = any(@types::text[]))
    ORDER BY n LIMIT @limit::bigint`,
  approvalRequests: `
    SELECT c.id AS conversation_id, e.conv, e.n, e.type, e.at, e.data
    FROM skein.events e JOIN skein.conversations c ON c.tenant = @tenant::text AND c.id = e.conv
    WHERE e.tenant = @tenant::text AND e.type = 'approval_requested' AND c.trashed_at IS NULL
    ORDER BY e.at DESC, e.n DESC LIMIT @limit::bigint`,
  approvalRequestsOf: `
    SELECT n, type, at, data FROM skein.events
    WHERE ${inConv} AND type = 'approval_requested' ORDER BY n DESC LIMIT @limit::bigint`,
  approvalAnswersOf: `
    SELECT n, type, at, data FROM skein.events WHERE ${inConv} AND type = 'permission' ORDER BY n`,
  eventsDown: `
    SELECT n, type, at, data FROM skein.events
    WHERE ${inConv} AND n < @below::int AND (@types::text[] IS NULL OR type = any(@types::text[]))
    ORDER BY n DESC LIMIT @limit::bigint`,
} satisfies Partial<Queries>
