import type { ListedConversation } from '../../core/listing.ts'
import type { BranchInConversation, ConversationReader, Lister, Resolved } from '../../core/ports.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { needNamed } from './find-named.ts'
import { projectDirectories, type Workplace } from './scope.ts'

/** What `skein` without arguments continues. */
export interface NewestHere {
  readonly newest: BranchInConversation | null
  /** A newer conversation that was skipped because it has expired. */
  readonly expired: ListedConversation | null
}

/** The newest conversation of this project that is not expired. Never a subagent's trace (C18), nor one
 *  that another program owns. An expired one is continued only by name. */
export async function newestHere(
  store: Pick<Lister, 'listConversations' | 'listDirectories'>,
  context: Workplace & Pick<CommandContext, 'now'>,
): Promise<NewestHere> {
  const directory = await projectDirectories(store, context)
  let expired: ListedConversation | null = null
  for (let after: string | null | undefined; after !== null; ) {
    const page = await store.listConversations({
      directory,
      kind: 'main',
      limit: 20,
      ...(after === undefined ? {} : { after }),
    })
    for (const listed of page.items) {
      if (listed.owner !== null) continue
      const { branch, ...conversation } = listed
      if (listed.expiresAt === null || listed.expiresAt.getTime() > context.now())
        return { newest: { conversation, branch }, expired }
      expired ??= listed
    }
    after = page.next
  }
  return { newest: null, expired }
}

/** The named conversation, branch or message; without a name, what `skein` without arguments continues, or
 *  null. */
export async function namedOrNewest(
  name: string | undefined,
  store: ConversationReader & Lister,
  context: CommandContext,
): Promise<Resolved | null> {
  if (name !== undefined) return needNamed(name, store, context)
  const { newest } = await newestHere(store, context)
  return newest && { ...newest, message: null }
}
