import type { ConversationId } from './ids.ts'
import { itemsOf } from './pages.ts'
import type { ConversationReader } from './ports.ts'

/** The names of all branches of a conversation, oldest first. Only the names are in memory. */
export async function branchNames(
  store: Pick<ConversationReader, 'listBranches'>,
  id: ConversationId,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for await (const { name } of itemsOf(page => store.listBranches(id, page))) names.add(name)
  return names
}
