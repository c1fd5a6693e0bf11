import type { Branch, BranchRef } from '../../core/branch.ts'
import { PreconditionFailedError } from '../../core/conditional-writer.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { first, type Program } from '../engine/engine.ts'
import { branchFromRow } from '../engine/row-to-value.ts'
import type { BranchRow, Conv, ConversationRow, LocatedRow, LockRow } from '../engine/rows.ts'

/** The conversation's row. Throws NotFoundError. */
export function* needConversation(id: ConversationId): Program<ConversationRow> {
  const row = yield* first('conversationById', { id })
  if (!row) throw new NotFoundError('conversation', id)
  return row
}

/** The inner key of a conversation, to be used by the next statement. Throws NotFoundError. */
export function* convOf(id: ConversationId): Program<Conv> {
  const row = yield* first('convOf', { id })
  if (!row) throw new NotFoundError('conversation', id)
  return row.conv
}

/** Locks a conversation for writing and returns its row. Throws NotFoundError, also for one in the
 *  trash. */
export function* lockLiving(id: ConversationId): Program<LockRow> {
  const row = yield* first('lockConversation', { id })
  if (!row) throw new NotFoundError('conversation', id)
  if (row.trashed_at !== null) throw new NotFoundError('conversation', id, { trashed: true })
  return row
}

export function* needBranch(conv: Conv, name: string): Program<BranchRow> {
  const row = yield* first('branch', { conv, name })
  if (!row) throw new NotFoundError('branch', name)
  return row
}

/** A branch. Throws NotFoundError, for its conversation or its name. */
export function* getBranch({ conversationId, name }: BranchRef): Program<Branch> {
  const row = yield* first('branchOf', { id: conversationId, name })
  if (!row) throw new NotFoundError('conversation', conversationId)
  if (row.name === null) throw new NotFoundError('branch', name)
  return branchFromRow(conversationId, row as BranchRow)
}

/** Locks the conversation of a branch and reads both. */
export function* lockBranch(ref: BranchRef): Program<{ conversation: LockRow; branch: BranchRow }> {
  const conversation = yield* lockLiving(ref.conversationId)
  return { conversation, branch: yield* needBranch(conversation.conv, ref.name) }
}

/** A message of this conversation. Throws NotFoundError. */
export function* needMessageIn(conversationId: ConversationId, id: MessageId): Program<LocatedRow> {
  const row = yield* first('locate', { id })
  if (!row || row.conversation_id !== conversationId) throw new NotFoundError('message', id)
  return row
}

export function* needMessage(id: MessageId): Program<LocatedRow> {
  const row = yield* first('locate', { id })
  if (!row) throw new NotFoundError('message', id)
  return row
}

/** Runs a program if the conversation has one of these versions, whose lock it holds until the end of the
 *  transaction. Throws NotFoundError and PreconditionFailedError. */
export function* ifVersion<T>(
  id: ConversationId,
  versions: readonly number[],
  program: () => Program<T>,
): Program<T> {
  yield* first('lockConversation', { id })
  const version = yield* versionOf(id)
  if (!versions.includes(version)) throw new PreconditionFailedError(version)
  return yield* program()
}

export function* versionOf(id: ConversationId): Program<number> {
  const row = yield* first('versionById', { id })
  if (!row) throw new NotFoundError('conversation', id)
  return row.version
}
