import type { BranchInfo } from '../../core/branch.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ListedConversation } from '../../core/listing.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import { sessionKeyPrefix } from './session-id.ts'

/** An entry of `session/list`. */
export interface ListedSession {
  readonly sessionId: string
  readonly cwd: string
  readonly title?: string
  readonly updatedAt: string
}

export interface SessionPage {
  readonly sessions: readonly ListedSession[]
  readonly nextCursor?: string
}

const pageSize = 50

/** A page of the conversations of a directory, or of all, newest first, of any agent. A branch with its own
 *  session id is a session of its own. */
export async function listSessions(
  store: Pick<Lister, 'listConversations'> & Pick<ConversationReader, 'listBranches'>,
  { cwd, cursor }: JsonObject,
): Promise<SessionPage> {
  const { items, next } = await store.listConversations({
    kind: 'main',
    limit: pageSize,
    ...(typeof cwd === 'string' ? { directory: cwd } : {}),
    ...(typeof cursor === 'string' ? { after: cursor } : {}),
  })
  // A conversation without a directory cannot be opened, and one with an owner is written by its owner only.
  const open = items.filter(({ directory, owner }) => directory !== null && owner === null)
  const sessions = await Promise.all(
    open.map(async item => sessionsOf(item, await collectPages(page => store.listBranches(item.id, page)))),
  )
  return { sessions: sessions.flat(), ...(next === null ? {} : { nextCursor: next }) }
}

function sessionsOf(item: ListedConversation, branches: readonly BranchInfo[]): readonly ListedSession[] {
  const forks = branches.filter(({ key }) => key?.startsWith(sessionKeyPrefix))
  const listed = (sessionId: string, title: string | null, updatedAt: Date): ListedSession => ({
    sessionId,
    cwd: item.directory!,
    updatedAt: updatedAt.toISOString(),
    ...(title === null ? {} : { title }),
  })
  const own = forks.map(({ key, title, updatedAt }) =>
    listed(key!.slice(sessionKeyPrefix.length), title ?? item.title, updatedAt),
  )
  if (forks.length === branches.length) return own
  return [listed(item.id, item.title, item.updatedAt), ...own]
}
