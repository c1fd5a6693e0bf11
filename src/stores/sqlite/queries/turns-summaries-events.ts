import type { Queries } from '../../engine/statements.ts'
import { namedBranch } from './columns.ts'

const turnColumns = `
  key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until, started_at,
  ended_at`

const summaryColumns = `
  last_seq, first_seq, last_id, first_id, model, tokens, text, checksum, holder, lease_until, created_at`

/** Each condition is the one of an index that has the turns in order, so that a page costs its own rows. */
const turnFilters = {
  any: `(@status IS NULL OR status = @status)`,
  stopped: `status = @status AND (status = 'interrupted' OR status = 'failed')`,
}

function listTurns(filter: keyof typeof turnFilters, order: 'ASC' | 'DESC'): string {
  return `
    SELECT ${turnColumns} FROM skein_turns
    WHERE conv = @conv AND first > @above AND first < @below AND ${turnFilters[filter]}
    ORDER BY first ${order} LIMIT +@limit`
}

/** A conversation has few open turns: sorting them is cheap. */
function listOpenTurns(order: 'ASC' | 'DESC'): string {
  return `
    SELECT ${turnColumns} FROM skein_turns INDEXED BY skein_turns_open
    WHERE conv = @conv AND first > @above AND first < @below AND status = 'open'
    ORDER BY first ${order} LIMIT +@limit`
}

export const turnQueries = {
  turn: `SELECT ${turnColumns} FROM skein_turns WHERE conv = @conv AND key = @key`,
  listTurns: listTurns('any', 'ASC'),
  listTurnsDown: listTurns('any', 'DESC'),
  listStoppedTurns: listTurns('stopped', 'ASC'),
  listStoppedTurnsDown: listTurns('stopped', 'DESC'),
  listOpenTurns: listOpenTurns('ASC'),
  listOpenTurnsDown: listOpenTurns('DESC'),
  turnsByKey: `
    SELECT ${turnColumns} FROM skein_turns WHERE conv = @conv AND key > @after ORDER BY key LIMIT +@limit`,
  // The index is named, because the planner would otherwise read every turn of the conversation.
  openTurns: `
    SELECT ${turnColumns} FROM skein_turns INDEXED BY skein_turns_open
    WHERE conv = @conv AND status = 'open' ORDER BY first`,
  openTurnOn: `
    SELECT ${turnColumns} FROM skein_turns INDEXED BY skein_turns_open
    WHERE conv = @conv AND branch = @name AND status = 'open'`,
  stepMessages: `
    SELECT seq, id, role, body_hash FROM skein_messages
    WHERE conv = @conv AND seq BETWEEN @first AND @last AND turn = @first AND step = @step ORDER BY seq`,
  insertTurn: `
    INSERT INTO skein_turns (
      conv, key, branch, first, last, last_step, status, model, prompt_hash, usage, holder, lease_until,
      started_at, ended_at)
    VALUES (
      @conv, @key, @branch, @first, @last, @last_step, @status, @model, @prompt_hash, @usage, @holder,
      @lease_until, @now, @ended_at)`,
  updateTurn: `
    UPDATE skein_turns SET last = @last, last_step = @last_step, status = @status, model = @model,
      prompt_hash = @prompt_hash, usage = @usage, lease_until = @lease_until, ended_at = @ended_at
    WHERE conv = @conv AND key = @key`,
  renewTurn: `UPDATE skein_turns SET lease_until = @lease_until WHERE conv = @conv AND key = @key`,
  // A range and an order, and not an equation, or the planner would read every turn of the conversation.
  turnEndingAt: `
    SELECT ${turnColumns} FROM skein_turns
    WHERE conv = @conv AND branch = @name AND last = @seq
      AND first BETWEEN (SELECT m.turn FROM skein_messages m WHERE m.conv = @conv AND m.seq = @seq) AND @seq
    ORDER BY first LIMIT 1`,
  reopenTurn: `
    UPDATE skein_turns SET status = 'open', holder = @holder, lease_until = @lease_until, ended_at = NULL
    WHERE conv = @conv AND key = @key`,
  drafts: `SELECT n, type, text FROM skein_drafts WHERE conv = @conv AND turn = @turn ORDER BY n`,
  draftsAfter: `
    SELECT n, type, text FROM skein_drafts
    WHERE conv = @conv AND turn = @turn AND n > @after ORDER BY n LIMIT +@limit`,
  lastDraft: `
    SELECT n FROM skein_drafts WHERE conv = @conv AND turn = @turn ORDER BY n DESC LIMIT 1`,
  insertDraft: `
    INSERT INTO skein_drafts (conv, turn, n, type, text) VALUES (@conv, @turn, @n, @type, @text)`,
  deleteDrafts: `DELETE FROM skein_drafts WHERE conv = @conv AND turn = @turn`,

  summary: `
    SELECT ${summaryColumns} FROM skein_summaries
    WHERE conv = @conv AND last_seq = @last_seq AND first_seq = @first_seq`,
  summaries: `
    SELECT ${summaryColumns} FROM skein_summaries WHERE conv = @conv ORDER BY last_seq, first_seq`,
  listSummaries: `
    SELECT ${summaryColumns} FROM skein_summaries
    WHERE conv = @conv AND text IS NOT NULL AND (last_seq, first_seq) > (@last_seq, @first_seq)
    ORDER BY last_seq, first_seq LIMIT +@limit`,
  listSummariesDown: `
    SELECT ${summaryColumns} FROM skein_summaries
    WHERE conv = @conv AND text IS NOT NULL AND (last_seq, first_seq) < (@last_seq, @first_seq)
    ORDER BY last_seq DESC, first_seq DESC LIMIT +@limit`,
  summariesOfBranch: `
    SELECT ${summaryColumns} FROM skein_summaries
    WHERE conv = (SELECT b.conv FROM ${namedBranch} b) AND text IS NOT NULL
    ORDER BY last_seq DESC, first_seq DESC LIMIT +@limit`,
  claimSummary: `
    INSERT INTO skein_summaries (conv, last_seq, first_seq, last_id, first_id, holder, lease_until, created_at)
    VALUES (@conv, @last_seq, @first_seq, @last_id, @first_id, @holder, @lease_until, @now)
    ON CONFLICT (conv, last_seq, first_seq) DO UPDATE SET
      holder = excluded.holder, lease_until = excluded.lease_until`,
  putSummary: `
    UPDATE skein_summaries SET model = @model, tokens = @tokens, text = @text, checksum = @checksum,
      holder = NULL, lease_until = NULL, created_at = @now
    WHERE conv = @conv AND last_seq = @last_seq AND first_seq = @first_seq`,
  deleteSummaries: `
    DELETE FROM skein_summaries WHERE conv = @conv AND last_seq BETWEEN @lo AND @hi`,
  deleteSummary: `
    DELETE FROM skein_summaries
    WHERE conv = @conv AND last_seq = @last_seq AND first_seq = @first_seq`,
  insertEvent: `INSERT INTO skein_events (conv, n, type, at, data) VALUES (@conv, @n, @type, @at, @data)`,
  setNextEvent: `
    UPDATE skein_conversations SET next_event = @next_event, version = version + 1 WHERE c = @conv`,
  setEventData: `UPDATE skein_events SET data = @data WHERE conv = @conv AND n = @n`,
  events: `
    SELECT n, type, at, data FROM skein_events
    WHERE conv = @conv AND n > @after AND (@types IS NULL OR type IN (SELECT value FROM json_each(@types)))
    ORDER BY n LIMIT +@limit`,
  approvalRequests: `
    SELECT c.id AS conversation_id, e.conv, e.n, e.type, e.at, e.data
    FROM skein_events e JOIN skein_conversations c ON c.c = e.conv
    WHERE e.type = 'approval_requested' AND c.trashed_at IS NULL
    ORDER BY e.at DESC, e.n DESC LIMIT +@limit`,
  approvalRequestsOf: `
    SELECT n, type, at, data FROM skein_events
    WHERE conv = @conv AND type = 'approval_requested' ORDER BY n DESC LIMIT +@limit`,
  approvalAnswersOf: `
    SELECT n, type, at, data FROM skein_events WHERE conv = @conv AND type = 'permission' ORDER BY n`,
  eventsDown: `
    SELECT n, type, at, data FROM skein_events
    WHERE conv = @conv AND n < @below AND (@types IS NULL OR type IN (SELECT value FROM json_each(@types)))
    ORDER BY n DESC LIMIT +@limit`,
} satisfies Partial<Queries>
