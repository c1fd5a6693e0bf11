import { InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Restored } from '../../core/removal.ts'
import { all, countChanges, first, type Program, run } from '../engine/engine.ts'
import { dropBlobs } from './content.ts'

/** Moves a conversation to the trash and frees its keys. */
export function* trashConversation(id: ConversationId, now: number): Program<boolean> {
  const row = yield* first('lockConversation', { id })
  if (!row || row.trashed_at !== null) return false
  for (const { name, key } of yield* all('branches', { conv: row.conv })) {
    if (key === null) continue
    yield* run('setBranchKey', { conv: row.conv, name, key: null, former_key: key, trashed_key: key })
  }
  yield* run('setTrashed', { conv: row.conv, now })
  return true
}

/** Takes a conversation out of the trash and restores the keys that are still free. */
export function* restoreConversation(id: ConversationId, now: number): Program<Restored> {
  const row = yield* first('lockConversation', { id })
  if (!row || row.purging === 1) throw new NotFoundError('conversation', id)
  const keysTaken: string[] = []
  if (row.trashed_at === null) return { keysTaken }
  for (const { name, trashed_key } of yield* all('branches', { conv: row.conv })) {
    if (trashed_key === null) continue
    const taken = yield* first('conversationByKey', { key: trashed_key })
    if (taken) keysTaken.push(trashed_key)
    const keys = taken ? { key: null, former_key: trashed_key } : { key: trashed_key, former_key: null }
    yield* run('setBranchKey', { conv: row.conv, name, ...keys, trashed_key: null })
  }
  yield* run('setRestored', { conv: row.conv, now })
  return { keysTaken }
}

/** Messages that a purge removes in one transaction, so that other writers do not wait long. */
const chunk = 200

/** Other rows that a purge removes in one transaction. */
const rowsPerPurge = 2_000

const manyRows = ['deleteSomeTurns', 'deleteSomeTombstones', 'deleteSomeEvents'] as const

/** Removes a part of a trashed conversation, or its rest. A purge takes several transactions; the
 *  conversation is invisible to readers from the start, because it is in the trash. */
export function* purgeSome(
  id: ConversationId,
): Program<{ state: 'missing' | 'more' | 'gone'; messages: number }> {
  const row = yield* first('lockConversation', { id })
  if (!row) return { state: 'missing', messages: 0 }
  if (row.trashed_at === null) throw new InvalidError('conversation', `${id} is not in the trash`)
  const { conv } = row
  yield* run('beginPurge', { conv })
  const rows = yield* all('listMessages', {
    id,
    above: -1,
    below: row.next_seq,
    roles: null,
    label: null,
    limit: 1,
    offset: chunk - 1,
  })
  const hi = rows[0]?.seq ?? row.next_seq
  yield* run('deleteSearchEntries', { conv, lo: 0, hi })
  yield* dropBlobs({ conv, lo: 0, hi })
  const messages = yield* countChanges('deleteMessages', { conv, lo: 0, hi })
  if (hi < row.next_seq) return { state: 'more', messages }
  for (const statement of manyRows) {
    const deleted = yield* countChanges(statement, { conv, limit: rowsPerPurge })
    if (deleted === rowsPerPurge) return { state: 'more', messages }
  }
  yield* run('deleteConversation', { conv })
  return { state: 'gone', messages }
}

/** Removes the prompts that no conversation refers to. Reads all prompts, so a sweep does it once. */
export function* dropLoosePrompts(): Program<void> {
  const hashes = (yield* all('loosePrompts', {})).map(row => row.hash)
  if (hashes.length > 0) yield* run('deleteLoosePrompts', { hashes })
}
