import type { Branch, BranchRef } from '../../core/branch.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { ConversationReader } from '../../core/ports.ts'

/** The branch, or null if it does not exist. */
export async function findBranch(
  store: Pick<ConversationReader, 'getBranch'>,
  ref: BranchRef,
): Promise<Branch | null> {
  try {
    return await store.getBranch(ref)
  } catch (error) {
    if (error instanceof NotFoundError) return null
    throw error
  }
}
