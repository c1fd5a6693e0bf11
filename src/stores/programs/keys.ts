import { branchStem } from '../../core/branch-name.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationId } from '../../core/ids.ts'
import { first, type Program, run } from '../engine/engine.ts'
import type { BranchRow, Conv, LockRow } from '../engine/rows.ts'
import { lockLiving, needBranch } from './lookup.ts'

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

/** Gives the key of a branch to another one, which becomes the active one if the first was. */
export function* giveKey(
  { conv, active_branch }: Pick<LockRow, 'conv' | 'active_branch'>,
  from: BranchRow,
  to: BranchRow,
): Program<void> {
  const { key } = from
  if (key !== null) {
    // The key is unique, so it is taken away first.
    yield* run('setBranchKey', { conv, name: from.name, ...otherKeys(from), key: null })
    yield* run('setBranchKey', { conv, name: to.name, ...otherKeys(to), key })
  }
  if (active_branch === from.name) yield* run('setActiveBranch', { conv, name: to.name })
  else yield* run('bumpVersion', { conv })
}

function otherKeys({ former_key }: BranchRow) {
  return { former_key, trashed_key: null }
}

/** The branch takes a key of its conversation, or replaces the active branch if that is a sibling: see
 *  `AppendOptions.moveKey`. The giver is read here, under the lock: another caller may just have moved it. */
export function* takeKeyFromSibling(id: ConversationId, key: string | null, name: string): Program<void> {
  const conversation = yield* lockLiving(id)
  const giver = yield* giverOf(conversation, key, name)
  if (giver === null || giver === name) return
  const [from, to] = [yield* needBranch(conversation.conv, giver), yield* needBranch(conversation.conv, name)]
  if (to.key === null) yield* giveKey(conversation, from, to)
}

function* giverOf({ id, active_branch }: LockRow, key: string | null, name: string): Program<string | null> {
  if (key === null) return branchStem(active_branch) === branchStem(name) ? active_branch : null
  const holder = yield* first('conversationByKey', { key })
  return holder?.id === id ? holder.name : null
}

export function isExpired(row: { readonly expires_at: number | null }, now: number): boolean {
  return row.expires_at !== null && row.expires_at <= now
}
