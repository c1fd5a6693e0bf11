import type { BranchInConversation, ConversationReader, Lister } from '../../core/ports.ts'
import type { StoreLocation } from '../store/store-location.ts'
import { hasOwnStore, isInProject, projectDirectories, projectFolder, type Workplace } from './scope.ts'

type Located = Workplace & { location(): StoreLocation }

/** The key of a named conversation: without the folder in the project's own store, with it in all others. */
export function ownKey(name: string, context: Located): string {
  return hasOwnStore(context) ? `cli:${name}` : `cli:${name}@${projectFolder(context.cwd, context.env)}`
}

/** The conversation of this project with this name, or null. A conversation may have the key of a folder in
 *  the project, where it was created before the folder became part of it. */
export async function findByOwnKey(
  name: string,
  store: Pick<ConversationReader, 'findByKey'> & Pick<Lister, 'listDirectories'>,
  context: Located,
): Promise<BranchInConversation | null> {
  const found = await store.findByKey(ownKey(name, context))
  if (found) return found
  const directories = await projectDirectories(store, context)
  const keys = [`cli:${name}`, ...directories.map(directory => `cli:${name}@${directory}`)]
  let newest: BranchInConversation | null = null
  for (const key of keys) {
    const one = await store.findByKey(key)
    const directory = one?.conversation.directory ?? null
    if (!one || directory === null || !isInProject(directory, context)) continue
    if (!newest || one.conversation.updatedAt > newest.conversation.updatedAt) newest = one
  }
  return newest
}
