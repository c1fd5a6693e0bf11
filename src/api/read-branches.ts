import type { BranchInfo } from '../core/branch.ts'
import { type BranchForks, findForks } from '../core/branch-forks.ts'
import { gistOf } from '../core/gist.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import { lastPrompt } from '../core/last-prompt.ts'
import type { Message } from '../core/message.ts'
import { collectPages } from '../core/pages.ts'
import type { ConversationReader, MessageReader } from '../core/ports.ts'

/** A branch with what is shown of it. */
export interface ShownBranch {
  /** The branch. */
  readonly info: Pick<BranchInfo, 'name' | 'active' | 'key' | 'title' | 'base' | 'createdAt' | 'updatedAt'>
  /** Its head; null for an empty branch. */
  readonly head: Message | null
  /** Messages of its path that are on no other branch. */
  readonly own: number
  /** The last question. */
  readonly prompt: Message | null
}

/** The branches of a conversation with what is shown of each, the most recently active last. */
export async function readBranches(
  store: ConversationReader & MessageReader,
  id: ConversationId,
): Promise<readonly ShownBranch[]> {
  const infos = await collectPages(page => store.listBranches(id, page))
  const read: Omit<ShownBranch, 'own'>[] = []
  for (const info of infos) {
    const { prompt, after } = await lastPrompt(store, info.head)
    read.push({ info, head: after.at(-1) ?? prompt, prompt })
  }
  const { own } = findForks(
    await collectPages(page => store.listStretches(id, page)),
    read.map(({ info, head }) => ({ name: info.name, head })),
  )
  return read
    .map(row => ({ ...row, own: own.get(row.info.name) ?? 0 }))
    .sort((a, b) => a.info.updatedAt.getTime() - b.info.updatedAt.getTime())
}

/** Reads how the branches share the tree. */
export async function readForks(
  store: ConversationReader & MessageReader,
  id: ConversationId,
): Promise<BranchForks> {
  const branches = await collectPages(page => store.listBranches(id, page))
  const heads = branches.flatMap(({ head }) => head ?? [])
  const ends = new Map((await store.getMessages(heads, { blobs: 'preview' })).map(one => [one.id, one]))
  return findForks(
    await collectPages(page => store.listStretches(id, page)),
    branches.map(({ name, head }) => ({ name, head: head === null ? null : ends.get(head)! })),
  )
}

/** A name for each of the messages with the same parent: a branch that contains it, or its first words. */
export async function nameSiblings(
  store: Pick<MessageReader, 'getMessages'>,
  forks: Pick<BranchForks, 'siblings'>,
  messageId: MessageId,
): Promise<readonly string[]> {
  const names: string[] = []
  for (const { id, branches } of forks.siblings(messageId))
    names.push(branches[0] ?? (await firstWords(store, id as MessageId)))
  return names
}

async function firstWords(store: Pick<MessageReader, 'getMessages'>, id: MessageId): Promise<string> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  return message ? gistOf(message).split(' ').slice(0, 3).join(' ') : id
}
