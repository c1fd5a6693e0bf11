import type { Branch } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { MessageId } from '../../core/ids.ts'
import { type Message, type Role, textOf } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { BranchInConversation, ConversationReader, MessageReader } from '../../core/ports.ts'
import type { TurnWriter } from '../../core/turn-writer.ts'
import { takeOver } from '../../recorder/take-over.ts'

/** The status of a branch, which the header prints. */
export interface BranchStatus {
  readonly conversation: Conversation
  readonly branch: Branch
  /** The message to continue from; null in an empty conversation. */
  readonly head: MessageId | null
  /** Messages from the root to the head. */
  readonly messages: number
  readonly last: LastText | null
  /** A turn is being answered on this branch. */
  readonly live: boolean
  /** How many messages of the user at the end have no answer and are not being answered. */
  readonly unanswered: number
}

export interface LastText {
  readonly text: string
  readonly role: Role
  readonly at: Date
}

/** Reads the status of a branch, and ends the turns of dead processes. */
export type StatusStore = ConversationReader & MessageReader & Pick<TurnWriter, 'endTurn'>

/** Reads the status of a branch. First ends a turn whose process died, so that its draft becomes a
 *  message. */
export async function readBranchStatus(
  store: StatusStore,
  found: BranchInConversation,
): Promise<BranchStatus> {
  const { conversation } = found
  if (!(await isHeld(store, found.branch))) return readStatusAt(store, found, found.branch.head)
  const ended = await takeOver(store, conversation.id, found.branch.name)
  const branch = ended.length > 0 ? await store.getBranch(found.branch) : found.branch
  return readStatusAt(store, { conversation, branch }, branch.head, await isHeld(store, branch))
}

/** Whether a turn of this branch is open. */
async function isHeld(
  store: Pick<StatusStore, 'listTurns'>,
  { conversationId, name }: Branch,
): Promise<boolean> {
  for await (const turn of itemsOf(page => store.listTurns(conversationId, { status: 'open', ...page })))
    if (turn.branch === name) return true
  return false
}

/** The status at any message, for a fork. */
export async function readStatusAt(
  store: Pick<MessageReader, 'getMessages'>,
  { conversation, branch }: BranchInConversation,
  head: MessageId | null,
  live = false,
): Promise<BranchStatus> {
  const newest = head === null ? [] : await newestOf(store, head)
  const last = newest.at(-1)
  const unanswered = last === undefined || live ? 0 : await unansweredAt(store, last)
  return {
    conversation,
    branch,
    head,
    messages: last === undefined ? 0 : last.depth + 1,
    last: lastWordsOf(newest),
    live,
    unanswered,
  }
}

/** Most unanswered messages to count. */
const mostUnanswered = 20

/** How many messages of the user, up to this one, follow each other without an answer. */
export async function unansweredAt(
  store: Pick<MessageReader, 'getMessages'>,
  last: Message,
): Promise<number> {
  let count = 0
  for (let message: Message | undefined = last; message?.role === 'user' && count < mostUnanswered; count++) {
    const { parentId }: Message = message
    message = parentId === null ? undefined : (await store.getMessages([parentId], { blobs: 'preview' }))[0]
  }
  return count
}

/** A tail would begin with a whole turn, which may be long. Three messages usually contain text. */
async function newestOf(
  store: Pick<MessageReader, 'getMessages'>,
  head: MessageId,
): Promise<readonly Message[]> {
  const messages: Message[] = []
  for (let id: MessageId | null = head; id !== null && messages.length < 3; ) {
    const [message]: readonly Message[] = await store.getMessages([id], { blobs: 'preview' })
    if (message === undefined) break
    messages.unshift(message)
    if (textOf(message).trim() !== '') break
    id = message.parentId
  }
  return messages
}

function lastWordsOf(messages: readonly Message[]): LastText | null {
  const spoken = messages.findLast(message => textOf(message).trim() !== '')
  return spoken ? { text: textOf(spoken), role: spoken.role, at: spoken.createdAt } : null
}
