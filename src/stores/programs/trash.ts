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

/** What a piece of a purge has done. `next` is the first message that is not removed yet. */
interface PurgedPiece {
  readonly state: 'missing' | 'more' | 'empty'
  readonly messages: number
  readonly next: number
}

/** Removes a part of what a trashed conversation contains. A purge takes several transactions; the
 *  conversation is invisible to readers from the start, because it is in the trash. A piece begins where the
 *  one before it ended: PostgreSQL would visit the rows that were removed there again. */
export function* purgeSome(id: ConversationId, from: number): Program<PurgedPiece> {
  const row = yield* first('lockConversation', { id })
  if (!row) return { state: 'missing', messages: 0, next: from }
  if (row.trashed_at === null) throw new InvalidError('conversation', `${id} is not in the trash`)
  const { conv, next_seq: end } = row
  yield* run('beginPurge', { conv })
  if (from < end) {
    const messages = yield* all('listMessages', {
      id,
      above: from - 1,
      below: end,
      roles: null,
      label: null,
      limit: 1,
      offset: chunk - 1,
    })
    const span = { conv, lo: from, hi: messages[0]?.seq ?? end }
    yield* run('deleteSearchEntries', span)
    yield* dropBlobs(span)
    return { state: 'more', messages: yield* countChanges('deleteMessages', span), next: span.hi + 1 }
  }
  for (const statement of manyRows) {
    const deleted = yield* countChanges(statement, { conv, limit: rowsPerPurge })
    if (deleted === rowsPerPurge) return { state: 'more', messages: 0, next: from }
  }
  return { state: 'empty', messages: 0, next: from }
}

/** Removes a conversation whose contents have been removed. */
export function* purgeEmpty(id: ConversationId): Program<void> {
  const row = yield* first('lockConversation', { id })
  if (row) yield* run('deleteConversation', { conv: row.conv })
}

/** Removes the prompts that no conversation refers to. Reads all prompts, so a sweep does it once. */
export function* dropLoosePrompts(): Program<void> {
  const hashes = (yield* all('loosePrompts', {})).map(row => row.hash)
  if (hashes.length > 0) yield* run('deleteLoosePrompts', { hashes })
}
