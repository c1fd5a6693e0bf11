import type { Branch, BranchRef } from '../core/branch.ts'
import { KeyReusedError } from '../core/errors.ts'
import { collectPages } from '../core/pages.ts'
import type { ConversationReader, ConversationWriter } from '../core/ports.ts'
import { sessionKeyPrefix } from './session-id.ts'

/** A branch at the head of another, with a session id of its own and a name that is free: `main-2`, `main-3` … */
export async function forkBranch(
  store: Pick<ConversationReader, 'getBranch' | 'listBranches'> & Pick<ConversationWriter, 'createBranch'>,
  from: BranchRef,
  sessionId: string,
): Promise<Branch> {
  const { head } = await store.getBranch(from)
  const taken = new Set(
    (await collectPages(page => store.listBranches(from.conversationId, page))).map(({ name }) => name),
  )
  const stem = from.name.replace(/-\d+$/, '')
  for (let n = 2; ; n++) {
    const name = `${stem}-${n}`
    if (taken.has(name)) continue
    try {
      return await store.createBranch(from.conversationId, head, {
        name,
        key: `${sessionKeyPrefix}${sessionId}`,
      })
    } catch (error) {
      // Somebody took the name a moment ago.
      if (!(error instanceof KeyReusedError) || n > 1_000) throw error
    }
  }
}
