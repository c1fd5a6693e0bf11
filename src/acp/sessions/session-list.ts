import { sha256Hex } from '../../core/hash.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ListedConversation } from '../../core/listing.ts'
import { itemsOf } from '../../core/pages.ts'
import type { ConversationReader, ConversationWriter, Lister } from '../../core/ports.ts'
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

/** The mark of a conversation of another directory, or of none, that was continued in this one. */
function continuedIn(directory: string): { readonly [key: string]: true } {
  return { [`acp_in_${sha256Hex(directory).slice(0, 16)}`]: true }
}

/** Marks a conversation of another directory, or of none, so that it is listed here, too. */
export async function listAlsoIn(
  store: Pick<ConversationReader, 'getConversation'> & Pick<ConversationWriter, 'updateConversation'>,
  id: ConversationId,
  directory: string,
): Promise<void> {
  const { directory: own, metadata } = await store.getConversation(id)
  const mark = continuedIn(directory)
  if (own === directory || Object.keys(mark).every(key => key in metadata)) return
  await store.updateConversation(id, { metadata: { ...metadata, ...mark } })
}

/** A page of the conversations of a directory, or of all, newest first, of any agent. Conversations that were
 *  continued in the directory are on its first page. A branch with its own session id is a session of its
 *  own. */
export async function listSessions(
  store: Pick<Lister, 'listConversations'> & Pick<ConversationReader, 'listBranches'>,
  { cwd, cursor }: JsonObject,
): Promise<SessionPage> {
  const page = { kind: 'main', limit: pageSize } as const
  const { items: own, next } = await store.listConversations({
    ...page,
    ...(typeof cwd === 'string' ? { directory: cwd } : {}),
    ...(typeof cursor === 'string' ? { after: cursor } : {}),
  })
  const isFirst = typeof cwd === 'string' && typeof cursor !== 'string'
  const elsewhere = isFirst ? await store.listConversations({ ...page, metadata: continuedIn(cwd) }) : null
  const items = [...own, ...(elsewhere?.items ?? [])].sort(
    (a, b) => Number(b.updatedAt) - Number(a.updatedAt),
  )
  // One with an owner is written by its owner only. One without a directory, such as a talk in Discord, is
  // listed where it was continued.
  const open = items.flatMap(item => {
    const place = item.directory ?? (isFirst ? cwd : null)
    return place === null || item.owner !== null ? [] : [{ ...item, directory: place }]
  })
  const sessions = await Promise.all(open.map(item => sessionsOf(store, item)))
  return { sessions: sessions.flat(), ...(next === null ? {} : { nextCursor: next }) }
}

async function sessionsOf(
  store: Pick<ConversationReader, 'listBranches'>,
  item: ListedConversation & { readonly directory: string },
): Promise<readonly ListedSession[]> {
  const listed = (sessionId: string, title: string | null, updatedAt: Date): ListedSession => ({
    sessionId,
    cwd: item.directory,
    updatedAt: updatedAt.toISOString(),
    ...(title === null ? {} : { title }),
  })
  const own: ListedSession[] = []
  let hasOthers = false
  for await (const { key, title, updatedAt } of itemsOf(page => store.listBranches(item.id, page))) {
    if (key?.startsWith(sessionKeyPrefix))
      own.push(listed(key.slice(sessionKeyPrefix.length), title ?? item.title, updatedAt))
    else hasOthers = true
  }
  return hasOthers ? [listed(item.id, item.title, item.updatedAt), ...own] : own
}
