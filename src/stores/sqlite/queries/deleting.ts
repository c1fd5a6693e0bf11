import type { Queries } from '../../engine/query.ts'
import { tablesOfConversation } from '../../engine/tables.ts'

export const deletingQueries = {
  spanFacts: `
    SELECT count(*) AS count, coalesce(sum(tokens), 0) AS tokens FROM skein_messages
    WHERE conv = @conv AND seq BETWEEN @lo AND @hi`,
  buryMessages: `
    INSERT INTO skein_tombstones (conv, seq, parent_seq, id, at, reason)
    SELECT conv, seq, parent_seq, id, @now, @reason FROM skein_messages
    WHERE conv = @conv AND seq BETWEEN @lo AND @hi`,
  deleteMessages: `DELETE FROM skein_messages WHERE conv = @conv AND seq BETWEEN @lo AND @hi`,
  shrink: `
    UPDATE skein_conversations SET messages = messages - @removed, tokens = tokens - @tokens,
      version = version + 1
    WHERE c = @conv`,
  eraseMessage: `
    UPDATE skein_messages SET body = NULL, erased = @erased WHERE conv = @conv AND seq = @seq`,
  clearTitle: `
    UPDATE skein_conversations SET title = NULL, title_folded = NULL WHERE c = @conv AND title = @title`,
  setTrashed: `
    UPDATE skein_conversations SET trashed_at = @now, trash_sweeps = 0, version = version + 1 WHERE c = @conv`,
  setRestored: `
    UPDATE skein_conversations SET trashed_at = NULL, trash_sweeps = 0,
      expires_at = CASE WHEN expires_at <= @now THEN @now + coalesce(ttl_ms, renew_ms) ELSE expires_at END,
      version = version + 1
    WHERE c = @conv`,
  beginPurge: `UPDATE skein_conversations SET purging = 1 WHERE c = @conv`,
  // Named one by one: a borrowed handle may have its foreign keys switched off.
  deleteConversation: [
    ...tablesOfConversation.map(table => `DELETE FROM skein_${table} WHERE conv = @conv`),
    `DELETE FROM skein_conversations WHERE c = @conv`,
  ],

  state: `SELECT value FROM skein_state WHERE name = @name`,
  putState: `
    INSERT INTO skein_state (name, value) VALUES (@name, @value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  expiredTasks: `
    SELECT id FROM skein_conversations
    WHERE task IS NOT NULL AND expires_at IS NOT NULL AND trashed_at IS NULL AND expires_at <= @now
      AND NOT EXISTS (
        SELECT 1 FROM skein_turns t INDEXED BY skein_turns_open
        WHERE t.conv = skein_conversations.c AND t.status = 'open' AND t.lease_until > @now)
    ORDER BY expires_at LIMIT +@limit`,
  countSweep: `
    UPDATE skein_conversations SET trash_sweeps = trash_sweeps + 1
    WHERE trashed_at IS NOT NULL AND trashed_at <= @now`,
  purgeable: `
    SELECT id FROM skein_conversations
    WHERE trashed_at IS NOT NULL AND (purging = 1 OR trashed_at <= @before AND trash_sweeps >= @sweeps)
    ORDER BY trashed_at, id LIMIT +@limit`,
} satisfies Partial<Queries>
