import type { BranchRef } from '../../core/branch.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationReader, ConversationWriter } from '../../core/ports.ts'

/** Two that want the same key at the same time take turns; nobody loses this often by chance. */
const mostTries = 20

/** Gives a key to a branch, whoever has it. The one that had it keeps its id. */
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
