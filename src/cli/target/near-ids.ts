import { AmbiguousIdError, InvalidError, NotFoundError } from '../../core/errors.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { ConversationReader, Lister } from '../../core/ports.ts'
import type { World } from '../command-line/command-context.ts'
import { editsBetween } from '../command-line/similar-words.ts'
import { shortestId } from '../output/short-id.ts'

/** More would be a list, and there are commands for lists. */
const mostNamed = 3

/** What a person has seen lately is in these: so many conversations of this directory, and the newest messages of
 *  the first few of them. */
const conversationsSeen = 50
const conversationsRead = 8
const messagesRead = 100

/** Ids that may have been meant by one that is not there, the nearest first: those that begin like it anywhere in the
 *  store, those seen lately in this directory that differ in a letter or two, and conversations that have it in their
 *  title. */
export async function nearIds(
  typed: string,
  store: ConversationReader & Lister,
  { cwd }: Pick<World, 'cwd'>,
): Promise<readonly string[]> {
  const id = typed.split(':', 1)[0]!.toLowerCase()
  if (id.length < 3) return []
  const { items } = await store.listConversations({ directory: cwd, limit: conversationsSeen })
  const alike = (await idsSeen(store, items))
    .map(one => ({ one, distance: distanceBetween(id, one) }))
    .filter(({ distance }) => distance <= 2)
    .sort((a, b) => a.distance - b.distance)
    .map(({ one }) => one)
  const found = [...(await idsBeginningLike(store, id)), ...alike, ...titled(items, id)]
  return [...new Set(found)].slice(0, mostNamed)
}

/** As much of the beginning as is there at all: whoever mistypes does so at the end of a long id as well. */
async function idsBeginningLike(
  store: Pick<ConversationReader, 'resolve'>,
  typed: string,
): Promise<readonly string[]> {
  for (let length = typed.length - 1; length >= shortestId; length--) {
    try {
      const { message, conversation } = await store.resolve(typed.slice(0, length))
      return [message ?? conversation.id]
    } catch (error) {
      if (error instanceof AmbiguousIdError) return error.candidates.map(one => one.id)
      if (!(error instanceof NotFoundError || error instanceof InvalidError)) throw error
    }
  }
  return []
}

async function idsSeen(
  store: Pick<Lister, 'listMessages'>,
  listed: readonly ListedConversation[],
): Promise<readonly string[]> {
  const ids: string[] = listed.map(({ id }) => id)
  for (const { id } of listed.slice(0, conversationsRead)) {
    const { items } = await store.listMessages({
      conversationId: id,
      order: 'descending',
      limit: messagesRead,
      blobs: 'preview',
    })
    ids.push(...items.map(message => message.id))
  }
  return ids
}

/** Edits between what was typed and the same length of an id. Of few letters the first three have to be right. */
function distanceBetween(typed: string, id: string): number {
  const edits = editsBetween(typed, id.slice(0, typed.length))
  return typed.length >= shortestId || typed.slice(0, 3) === id.slice(0, 3) ? edits : Number.POSITIVE_INFINITY
}

function titled(listed: readonly ListedConversation[], typed: string): readonly string[] {
  return listed.filter(({ title }) => title?.toLowerCase().includes(typed)).map(({ id }) => id)
}
