import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import { first, type Program, run } from '../engine/engine.ts'
import type { BranchRow, Conv } from '../engine/rows.ts'
import { needBranch } from './lookup.ts'

/** Makes sure that a key is free. An expired conversation gives it up in the same transaction. Throws
 *  KeyReusedError if another branch has it. */
export function* takeKey(key: string, now: number): Program<void> {
  const holder = yield* first('conversationByKey', { key })
  if (!holder) return
  if (isExpired(holder, now)) return yield* giveUpKey(key, holder.id as ConversationId, now)
  throw new KeyReusedError(key, `key ${JSON.stringify(key)} belongs to conversation ${holder.id}`)
}

/** Checks again under the lock that this conversation still has the key and is still expired. */
export function* giveUpKey(key: string, id: ConversationId, now: number): Program<void> {
  const row = yield* first('lockConversation', { id })
  const holder = yield* first('conversationByKey', { key })
  if (!row || holder?.id !== id || !isExpired(holder, now)) return
  yield* freeKey(row.conv, yield* needBranch(row.conv, holder.name))
  yield* run('bumpVersion', { conv: row.conv })
}

/** Removes the key of a branch and stores it as the former key. */
export function* freeKey(conv: Conv, branch: BranchRow): Program<void> {
  yield* run('setBranchKey', {
    conv,
    name: branch.name,
    key: null,
    former_key: branch.key,
    trashed_key: null,
  })
}

export function isExpired(row: { readonly expires_at: number | null }, now: number): boolean {
  return row.expires_at !== null && row.expires_at <= now
}
