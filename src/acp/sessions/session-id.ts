import type { Branch } from '../../core/branch.ts'
import { InvalidError, NotFoundError } from '../../core/errors.ts'
import { conversationId } from '../../core/ids.ts'
import { itemsOf } from '../../core/pages.ts'
import type { BranchInConversation, ConversationReader } from '../../core/ports.ts'

/** The `_meta` key under which our own agent names its store. */
export const storeIdKey = 'skein.store'

/** The prefix of a session id in the key of its branch. */
export const sessionKeyPrefix = 'acp:'

/** The branch of a session id: the one with the key `acp:<id>`, else the active branch of the conversation
 *  with this id. Null if there is none, or if it is in the trash. Expired conversations are found, as on the
 *  command line. */
export async function findSession(
  store: ConversationReader,
  sessionId: string,
): Promise<BranchInConversation | null> {
  return (await byKey(store, sessionId)) ?? (await byConversation(store, sessionId))
}

/** The session id of a branch: its own, else the conversation's. */
export function sessionIdOf({ conversation, branch }: BranchInConversation): string {
  return ownIdOf(branch) ?? conversation.id
}

async function byKey(store: ConversationReader, sessionId: string): Promise<BranchInConversation | null> {
  if (sessionId === '') return null
  const found = await orNull(() => store.resolve(`${sessionKeyPrefix}${sessionId}`))
  return found && { conversation: found.conversation, branch: found.branch }
}

async function byConversation(
  store: ConversationReader,
  sessionId: string,
): Promise<BranchInConversation | null> {
  const conversation = await orNull(async () => store.getConversation(conversationId(sessionId)))
  if (!conversation || conversation.trashedAt !== null) return null
  const { id, activeBranch } = conversation
  const active = await store.getBranch({ conversationId: id, name: activeBranch })
  if (ownIdOf(active) === null) return { conversation, branch: active }
  // A branch with its own id is another session: activating it must not move this one.
  for await (const branch of itemsOf(page => store.listBranches(id, page))) {
    if (ownIdOf(branch) === null) return { conversation, branch: await store.getBranch(branch) }
  }
  return { conversation, branch: active }
}

function ownIdOf({ key }: Pick<Branch, 'key'>): string | null {
  return key?.startsWith(sessionKeyPrefix) ? key.slice(sessionKeyPrefix.length) : null
}

/** A client may send any id. An id that is not valid is not found. */
async function orNull<T>(find: () => Promise<T>): Promise<T | null> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof InvalidError) return null
    throw error
  }
}
