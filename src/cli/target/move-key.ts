import type { BranchRef } from '../../core/branch.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationReader, ConversationWriter } from '../../core/ports.ts'

/** Concurrent writers take turns. This many failures are not a coincidence. */
const mostTries = 20

/** Gives a key to a branch, and takes it from its holder, which keeps its id. */
export async function moveKey(
  store: Pick<ConversationReader & ConversationWriter, 'findByKey' | 'setKey'>,
  key: string,
  to: BranchRef,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const holder = await store.findByKey(key)
    if (holder) await store.setKey(holder.branch, null)
    try {
      await store.setKey(to, key)
      return
    } catch (error) {
      if (!(error instanceof KeyReusedError) || tries === mostTries) throw error
    }
  }
}
