import type { ConversationFilter, ListedConversation } from '../../core/listing.ts'
import type { Lister } from '../../core/ports.ts'
import type { Place } from '../place.ts'

/** Which conversations "here" means. */
export interface Scope {
  readonly filter: Pick<ConversationFilter, 'directory'>
  /** As it stands in a sentence: `in this directory`. */
  readonly words: string
  /** False if there is more elsewhere in the store, which `--all` would bring. */
  readonly isAll: boolean
}

/** A project's store is all of one piece; elsewhere a directory has its own. */
export function scopeOf(place: Place, cwd: string, all: boolean): Scope {
  if (all) return { filter: {}, words: 'in this store', isAll: true }
  if (place.kind === 'project') return { filter: {}, words: 'in this project', isAll: true }
  return { filter: { directory: cwd }, words: 'in this directory', isAll: false }
}

/** How far to look back for one that can be continued, past traces, foreign and expired ones. */
const reach = 200

/** What a bare `skein` goes on with: the newest living main conversation here. Not one that expired, that belongs to
 *  another program, or, in a project's store, one from elsewhere, such as a chat on Discord. */
export async function newestHere(
  lister: Pick<Lister, 'listConversations'>,
  place: Place,
  cwd: string,
  now: number,
): Promise<ListedConversation | null> {
  const { filter } = scopeOf(place, cwd, false)
  let after: string | null = null
  for (let seen = 0; seen < reach; ) {
    const page: Awaited<ReturnType<Lister['listConversations']>> = await lister.listConversations({
      ...filter,
      kind: 'main',
      limit: 20,
      ...(after !== null && { after }),
    })
    const found = page.items.find(one => canGoOn(one, now))
    if (found) return found
    if (page.next === null) return null
    after = page.next
    seen += page.items.length + page.skipped.length
  }
  return null
}

function canGoOn({ directory, owner, expiresAt }: ListedConversation, now: number): boolean {
  return directory !== null && owner === null && (expiresAt === null || expiresAt.getTime() > now)
}
