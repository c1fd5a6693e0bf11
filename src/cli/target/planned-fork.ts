import type { BranchRef } from '../../core/branch.ts'
import { branchNameFrom, freeSiblingName, numberedNames, siblingNames } from '../../core/branch-name.ts'
import { branchNames } from '../../core/branch-names.ts'
import type { Conversation } from '../../core/conversation.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { textOf } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { ConversationReader, ConversationWriter, MessageReader } from '../../core/ports.ts'

/** A branch that is created with its first message, after which it is named. */
export interface PlannedFork {
  readonly conversationId: ConversationId
  /** Null before the first message. */
  readonly at: MessageId | null
  /** The branch that it leaves. */
  readonly from: string
  /** How many messages already follow that message directly. */
  readonly answers: number
}

/** Plans a fork at a message, or before the first one. */
export async function planFork(
  store: MessageReader,
  conversation: Pick<Conversation, 'id'>,
  at: MessageId | null,
  from: string,
): Promise<PlannedFork> {
  const answers = at === null ? 0 : await countAnswers(store, at)
  return { conversationId: conversation.id, at, from, answers }
}

/** Creates the planned branch, named after the words that are said there: `use-full-jitter`. Null answers the
 *  message at its end again, and the branch is named after that message. Without words, such as with files
 *  alone, it is a sibling: `main-2`. */
export async function createFork(
  store: Pick<
    ConversationReader & ConversationWriter & MessageReader,
    'listBranches' | 'createBranch' | 'getMessages'
  >,
  { conversationId, at, from }: PlannedFork,
  words: string | null,
): Promise<BranchRef> {
  const name = branchNameFrom(words ?? (await textAt(store, at)))
  if (name === null) return createSiblingBranch(store, conversationId, at, from)
  return createFree(store, conversationId, at, numberedNames(name))
}

async function textAt(store: Pick<MessageReader, 'getMessages'>, at: MessageId | null): Promise<string> {
  const [message] = at === null ? [] : await store.getMessages([at], { blobs: 'preview' })
  return message ? textOf(message) : ''
}

/** Creates a branch at a message, or at the root, with the next free name after `sibling`: `main-2`. */
export async function createSiblingBranch(
  store: Pick<ConversationReader & ConversationWriter, 'listBranches' | 'createBranch'>,
  id: ConversationId,
  at: MessageId | null,
  sibling: string,
): Promise<BranchRef> {
  const first = freeSiblingName(sibling, await branchNames(store, id))
  return createFree(store, id, at, startingWith(first, siblingNames(first)))
}

/** How many taken names are skipped. More conflicts are not caused by concurrent writers. */
const mostTaken = 100

async function createFree(
  store: Pick<ConversationWriter, 'createBranch'>,
  conversationId: ConversationId,
  at: MessageId | null,
  names: Iterator<string, never>,
): Promise<BranchRef> {
  for (let taken = 0; ; taken++) {
    const name = names.next().value
    try {
      await store.createBranch(conversationId, at, { name })
      return { conversationId, name }
    } catch (error) {
      if (!(error instanceof KeyReusedError) || taken > mostTaken) throw error
    }
  }
}

function* startingWith(first: string, others: Generator<string, never>): Generator<string, never> {
  yield first
  return yield* others
}

export async function isAnswered(store: MessageReader, id: MessageId): Promise<boolean> {
  return (await countAnswers(store, id)) > 0
}

/** The number of messages whose parent is this one. */
async function countAnswers(store: MessageReader, id: MessageId): Promise<number> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  const { conversationId, seq } = message!
  let answers = 0
  for await (const run of itemsOf(page => store.listStretches(conversationId, page))) {
    if (run.firstSeq <= seq && seq < run.lastSeq) answers++
    if (run.parent === id) answers++
  }
  return answers
}
