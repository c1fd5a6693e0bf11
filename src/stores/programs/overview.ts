import { CorruptError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { ConversationOverview } from '../../core/overview.ts'
import { all, later, type Program } from '../engine/engine.ts'
import { messageFromRow, turnFromRow } from '../engine/row-to-value.ts'
import type { LooseMessageRow } from '../engine/rows.ts'
import { loadPreviews } from './content.ts'

/** Reads what a list shows, with four statements for all conversations together. */
export function* readOverviews(
  conversations: readonly ListedConversation[],
): Program<readonly ConversationOverview[]> {
  if (conversations.length === 0) return []
  const ids = [...new Set(conversations.map(({ id }) => id))]
  const open = yield* later('openTurnsOf', { ids })
  const facts = new Map((yield* all('overviews', { ids })).map(row => [row.id, row]))
  const openTurns = Map.groupBy(open(), row => row.conversation_id)
  const wanted = new Set<string>()
  for (const { branch } of conversations) if (branch.head !== null) wanted.add(branch.head)
  for (const { first_id } of facts.values()) if (first_id !== null) wanted.add(first_id)
  const rows = yield* all('messagesByIds', { ids: [...wanted] })
  const depths = new Map(rows.map(row => [row.id, row.depth]))
  const messages = yield* readReadable(rows)
  return conversations.map(conversation => {
    const { id, branch } = conversation
    const fact = facts.get(id)
    const messageAt = (at: string | null | undefined) => messages.get(at ?? '') ?? null
    return {
      conversation,
      branches: fact?.branches ?? 0,
      pathMessages: (depths.get(branch.head ?? '') ?? -1) + 1,
      first: messageAt(fact?.first_id),
      last: messageAt(branch.head),
      openTurns: (openTurns.get(id) ?? []).map(row => turnFromRow(id, row)),
      agent: fact?.agent ?? null,
    }
  })
}

/** The versions of conversations, in one statement. */
export function* versionsOf(ids: readonly ConversationId[]): Program<ReadonlyMap<ConversationId, number>> {
  const rows = ids.length === 0 ? [] : yield* all('versionsByIds', { ids: [...new Set(ids)] })
  return new Map(rows.map(({ id, version }) => [id as ConversationId, version]))
}

/** How much of each id is needed to tell it from all others. The nearest ids in the order of texts share the
 *  longest beginnings with it. */
export function* uniqueLengths(ids: readonly ConversationId[]): Program<ReadonlyMap<ConversationId, number>> {
  const rows = ids.length === 0 ? [] : yield* all('neighboursOf', { ids: [...new Set(ids)] })
  return new Map(
    rows.map(({ id, ...neighbours }) => {
      const shared = Object.values(neighbours).map(other => sharedLength(id, other ?? ''))
      return [id as ConversationId, Math.max(...shared) + 1]
    }),
  )
}

function sharedLength(a: string, b: string): number {
  let n = 0
  while (n < a.length && a[n] === b[n]) n++
  return n
}

/** The overview of a conversation whose data cannot be read. */
export function unreadableOverview(conversation: ListedConversation): ConversationOverview {
  const nothing = { first: null, last: null, openTurns: [], agent: null }
  return { conversation, branches: 0, pathMessages: 0, ...nothing }
}

/** The messages by id, with previews of their blobs. Leaves out damaged ones. */
function* readReadable(rows: readonly LooseMessageRow[]): Program<ReadonlyMap<string, Message>> {
  const loadBlob = yield* loadPreviews(rows)
  const messages = new Map<MessageId, Message>()
  for (const row of rows) {
    const { conversation_id: conversationId, parent_id: parentId, depth, path_tokens: pathTokens } = row
    try {
      const message = messageFromRow(row, { conversationId, parentId, depth, pathTokens, loadBlob })
      messages.set(message.id, message)
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error
    }
  }
  return messages
}
