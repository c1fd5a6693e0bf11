import type { Branch, NewBranch } from '../../core/branch.ts'
import { siblingNames } from '../../core/branch-name.ts'
import { branchNames } from '../../core/branch-names.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ConversationReader, ConversationWriter } from '../../core/ports.ts'

/** How many names are tried that other writers take at the same moment. */
const mostTaken = 100

/** Creates a branch at a message with the next free name after `from`: `main-2`, `main-3` … */
export async function createSibling(
  store: Pick<ConversationReader & ConversationWriter, 'listBranches' | 'createBranch'>,
  id: ConversationId,
  at: MessageId | null,
  from: string,
  more: Omit<NewBranch, 'name'> = {},
): Promise<Branch> {
  const names = await branchNames(store, id)
  let taken = 0
  for (const name of siblingNames(from)) {
    if (names.has(name)) continue
    try {
      return await store.createBranch(id, at, { name, ...more })
    } catch (error) {
      if (!(error instanceof KeyReusedError) || error.key !== name || ++taken > mostTaken) throw error
    }
  }
  throw new Error('unreachable: the names do not end')
}
