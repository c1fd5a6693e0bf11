import type { Branch, BranchRef } from '../../core/branch.ts'
import { itemsOf } from '../../core/pages.ts'
import type {
  BranchInConversation,
  ConversationReader,
  ConversationWriter,
  Deleter,
} from '../../core/ports.ts'
import { sessionKeyPrefix } from './session-id.ts'

/** Deletes a session. If it is the only session of its conversation, the conversation goes to the trash, from
 *  which it can be restored. If there are others (forks), only the branches of this session are deleted;
 *  their messages stay in the tree. */
export async function deleteSession(
  store: Pick<ConversationReader, 'listBranches'> &
    Pick<ConversationWriter, 'activateBranch' | 'deleteBranch'> &
    Pick<Deleter, 'trash'>,
  { conversation, branch }: BranchInConversation,
): Promise<void> {
  const hasOwnId = ({ key }: { readonly key: string | null }) => key?.startsWith(sessionKeyPrefix) === true
  // A branch without a session id of its own belongs to the conversation's session.
  const isGoing = (one: Branch) => (hasOwnId(branch) ? one.name === branch.name : !hasOwnId(one))
  const going: (BranchRef & { readonly active: boolean })[] = []
  let other: BranchRef | null = null
  for await (const one of itemsOf(page => store.listBranches(conversation.id, page))) {
    const { conversationId, name, active } = one
    if (isGoing(one)) going.push({ conversationId, name, active })
    else other ??= { conversationId, name }
  }
  if (!other) {
    await store.trash(conversation.id)
    return
  }
  if (going.some(({ active }) => active)) await store.activateBranch(other)
  for (const one of going) await store.deleteBranch(one)
}
