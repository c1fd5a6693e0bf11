import type { BranchInfo } from '../core/branch.ts'
import { type BranchEnd, type BranchForks, findForks } from '../core/branch-forks.ts'
import { gistOf } from '../core/gist.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import { lastPrompt } from '../core/last-prompt.ts'
import type { Page, PageOptions } from '../core/listing.ts'
import type { Message } from '../core/message.ts'
import { collectPages, itemsOf } from '../core/pages.ts'
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
  const forks = await readForks(store, id)
  const shown: ShownBranch[] = []
  for await (const info of itemsOf(page => store.listBranches(id, page)))
    shown.push(await readShown(store, info, forks))
  return shown.sort(byActivity)
}

/** A page of them. Pages are in the order of creation; in each, the most recently active is the last. */
export async function readBranchPage(
  store: ConversationReader & MessageReader,
  id: ConversationId,
  options: PageOptions,
): Promise<Page<ShownBranch>> {
  const { items, next, skipped } = await store.listBranches(id, options)
  const forks = await readForks(store, id)
  const shown: ShownBranch[] = []
  for (const info of items) shown.push(await readShown(store, info, forks))
  return { items: shown.sort(byActivity), next, skipped }
}

async function readShown(
  store: MessageReader,
  info: BranchInfo,
  { own }: Pick<BranchForks, 'own'>,
): Promise<ShownBranch> {
  const { prompt, after } = await lastPrompt(store, info.head)
  return { info, head: after.at(-1) ?? prompt, own: own.get(info.name) ?? 0, prompt }
}

function byActivity(a: ShownBranch, b: ShownBranch): number {
  return a.info.updatedAt.getTime() - b.info.updatedAt.getTime()
}

/** Messages that are read at once for their positions. */
const headsPerRead = 500

/** Reads how the branches share the tree: the position of each head, and the structure, which has one entry
 *  for each fork. */
export async function readForks(
  store: ConversationReader & MessageReader,
  id: ConversationId,
): Promise<BranchForks> {
  const ends: BranchEnd[] = []
  let waiting: { readonly name: string; readonly head: MessageId }[] = []
  for await (const { name, head } of itemsOf(page => store.listBranches(id, page))) {
    if (head === null) ends.push({ name, head })
    else waiting.push({ name, head })
    if (waiting.length === headsPerRead) await locate()
  }
  await locate()
  return findForks(await collectPages(page => store.listStretches(id, page)), ends)

  async function locate(): Promise<void> {
    const heads = [...new Set(waiting.map(({ head }) => head))]
    const read = await store.getMessages(heads, { blobs: 'preview' })
    const places = new Map(read.map(({ id, seq, depth }) => [id, { seq, depth }]))
    for (const { name, head } of waiting) ends.push({ name, head: places.get(head)! })
    waiting = []
  }
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
