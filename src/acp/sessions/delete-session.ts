import { collectPages } from '../../core/pages.ts'
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
  const branches = await collectPages(page => store.listBranches(conversation.id, page))
  const hasOwnId = ({ key }: { readonly key: string | null }) => key?.startsWith(sessionKeyPrefix) === true
  // A branch without a session id of its own belongs to the conversation's session.
  const going = hasOwnId(branch)
    ? branches.filter(({ name }) => name === branch.name)
    : branches.filter(one => !hasOwnId(one))
  const [other] = branches.filter(one => !going.includes(one))
  if (!other) {
    await store.trash(conversation.id)
    return
  }
  if (going.some(({ active }) => active)) await store.activateBranch(other)
  for (const one of going) await store.deleteBranch(one)
}
