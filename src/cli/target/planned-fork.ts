import type { BranchRef } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import { KeyReusedError } from '../../core/errors.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ConversationReader, ConversationWriter, MessageReader } from '../../core/ports.ts'

/** A branch that is about to be made. */
export interface Fork {
  readonly conversationId: ConversationId
  readonly at: MessageId
  readonly name: string
  /** How many ways already went on from there. */
  readonly answers: number
}

/** A fork at a message, with a name that is free: `main-2`, `main-3` …, after the branch that people are on. */
export async function forkAt(
  store: ConversationReader & MessageReader,
  conversation: Conversation,
  at: MessageId,
): Promise<Fork> {
  const branches = await store.listBranches(conversation.id)
  const name = freeName(conversation.activeBranch, new Set(branches.map(branch => branch.name)))
  return { conversationId: conversation.id, at, name, answers: await countAnswers(store, at) }
}

/** Makes the branch. If somebody took the name a moment ago, the next one. */
export async function makeFork(
  store: Pick<ConversationWriter, 'createBranch'>,
  fork: Fork,
): Promise<BranchRef> {
  const taken = new Set<string>()
  for (let name = fork.name; ; name = freeName(fork.name, taken)) {
    try {
      const { conversationId } = await store.createBranch(fork.conversationId, fork.at, { name })
      return { conversationId, name }
    } catch (error) {
      if (!(error instanceof KeyReusedError) || taken.size > 100) throw error
      taken.add(name)
    }
  }
}

export async function isAnswered(store: MessageReader, id: MessageId): Promise<boolean> {
  return (await countAnswers(store, id)) > 0
}

/** Messages that hang on this one. */
async function countAnswers(store: MessageReader, id: MessageId): Promise<number> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  const runs = await store.structure(message!.conversationId)
  const follows = runs.some(({ firstSeq, lastSeq }) => firstSeq <= message!.seq && message!.seq < lastSeq)
  return (follows ? 1 : 0) + runs.filter(run => run.parent === id).length
}

function freeName(after: string, taken: ReadonlySet<string>): string {
  const stem = after.replace(/-\d+$/, '')
  for (let n = 2; ; n++) {
    const name = `${stem}-${n}`
    if (!taken.has(name)) return name
  }
}

/** A branch at a message, or at the very beginning, with the next free name after another one: `main-2`. */
export async function branchAt(
  store: Pick<ConversationReader & ConversationWriter, 'listBranches' | 'createBranch'>,
  id: ConversationId,
  at: MessageId | null,
  after: string,
): Promise<BranchRef> {
  const stem = after.replace(/-\d+$/, '')
  const taken = new Set((await store.listBranches(id)).map(({ name }) => name))
  for (let n = 2; ; n++) {
    const name = `${stem}-${n}`
    if (taken.has(name)) continue
    try {
      await store.createBranch(id, at, { name })
      return { conversationId: id, name }
    } catch (error) {
      // Somebody took the name a moment ago.
      if (!(error instanceof KeyReusedError) || n > taken.size + 100) throw error
    }
  }
}
