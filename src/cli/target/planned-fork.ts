import type { BranchRef } from '../../core/branch.ts'
import { freeSiblingName, siblingNames } from '../../core/branch-name.ts'
import type { Conversation } from '../../core/conversation.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, ConversationWriter, MessageReader } from '../../core/ports.ts'

/** A branch that is about to be created. */
export interface PlannedFork {
  readonly conversationId: ConversationId
  readonly at: MessageId
  readonly name: string
  /** How many messages already follow that message directly. */
  readonly answers: number
}

/** Plans a fork at a message. Its name is the next free one after the active branch: `main-2`, `main-3` … */
export async function planFork(
  store: ConversationReader & MessageReader,
  conversation: Conversation,
  at: MessageId,
): Promise<PlannedFork> {
  const name = freeSiblingName(conversation.activeBranch, await namesIn(store, conversation.id))
  return { conversationId: conversation.id, at, name, answers: await countAnswers(store, at) }
}

/** Creates the planned branch, under the next free name if another process has taken its name. */
export async function createFork(
  store: Pick<ConversationWriter, 'createBranch'>,
  { conversationId, at, name }: PlannedFork,
): Promise<BranchRef> {
  return createFree(store, conversationId, at, name)
}

/** Creates a branch at a message, or at the root, with the next free name after `sibling`: `main-2`. */
export async function createSiblingBranch(
  store: Pick<ConversationReader & ConversationWriter, 'listBranches' | 'createBranch'>,
  id: ConversationId,
  at: MessageId | null,
  sibling: string,
): Promise<BranchRef> {
  return createFree(store, id, at, freeSiblingName(sibling, await namesIn(store, id)))
}

/** How many taken names are skipped. More conflicts are not caused by concurrent writers. */
const mostTaken = 100

async function createFree(
  store: Pick<ConversationWriter, 'createBranch'>,
  conversationId: ConversationId,
  at: MessageId | null,
  first: string,
): Promise<BranchRef> {
  const names = siblingNames(first)
  for (let name = first, taken = 0; ; name = names.next().value, taken++) {
    try {
      await store.createBranch(conversationId, at, { name })
      return { conversationId, name }
    } catch (error) {
      if (!(error instanceof KeyReusedError) || taken > mostTaken) throw error
    }
  }
}

async function namesIn(
  store: Pick<ConversationReader, 'listBranches'>,
  id: ConversationId,
): Promise<ReadonlySet<string>> {
  return new Set((await collectPages(page => store.listBranches(id, page))).map(({ name }) => name))
}

export async function isAnswered(store: MessageReader, id: MessageId): Promise<boolean> {
  return (await countAnswers(store, id)) > 0
}

/** The number of messages whose parent is this one. */
async function countAnswers(store: MessageReader, id: MessageId): Promise<number> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  const runs = await collectPages(page => store.listStretches(message!.conversationId, page))
  const follows = runs.some(({ firstSeq, lastSeq }) => firstSeq <= message!.seq && message!.seq < lastSeq)
  return (follows ? 1 : 0) + runs.filter(run => run.parent === id).length
}
