import type { Branch, BranchRef } from '../../core/branch.ts'
import { siblingNames } from '../../core/branch-name.ts'
import { branchNames } from '../../core/branch-names.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationReader, ConversationWriter } from '../../core/ports.ts'
import { sessionKeyPrefix } from './session-id.ts'

/** Most names to try while other processes create branches, too. */
const mostRetries = 1_000

/** Creates a branch at the head of another, with its own session id and a free name such as `main-2`. */
export async function forkBranch(
  store: Pick<ConversationReader, 'getBranch' | 'listBranches'> & Pick<ConversationWriter, 'createBranch'>,
  from: BranchRef,
  sessionId: string,
): Promise<Branch> {
  const { head } = await store.getBranch(from)
  const taken = await branchNames(store, from.conversationId)
  const key = `${sessionKeyPrefix}${sessionId}`
  let retries = 0
  for (const name of siblingNames(from.name)) {
    if (taken.has(name)) continue
    try {
      return await store.createBranch(from.conversationId, head, { name, key })
    } catch (error) {
      // Another process has just taken the name.
      if (!(error instanceof KeyReusedError) || ++retries > mostRetries) throw error
    }
  }
  throw new Error('unreachable: the names do not end')
}
