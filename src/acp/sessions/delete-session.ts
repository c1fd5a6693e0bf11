import { collectPages } from '../../core/pages.ts'
import type {
  BranchInConversation,
  ConversationReader,
  ConversationWriter,
  Deleter,
} from '../../core/ports.ts'
import { sessionKeyPrefix } from './session-id.ts'

/** Takes a session away. With the last one of a conversation the conversation goes to the trash, from where
 *  it can be restored. Where there are others, forks of it, they stay: then only the session's branches go,
 *  and what was said on them stays in the tree. */
export async function deleteSession(
  store: Pick<ConversationReader, 'listBranches'> &
    Pick<ConversationWriter, 'activateBranch' | 'deleteBranch'> &
    Pick<Deleter, 'trash'>,
  { conversation, branch }: BranchInConversation,
): Promise<void> {
  const branches = await collectPages(page => store.listBranches(conversation.id, page))
  const hasOwnId = ({ key }: { readonly key: string | null }) => key?.startsWith(sessionKeyPrefix) === true
  // A branch without an id of its own belongs to the conversation's session.
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
