import type { BranchInfo } from '../core/branch.ts'
import { type BranchForks, findForks } from '../core/branch-forks.ts'
import { gistOf } from '../core/gist.ts'
import type { ConversationId, MessageId } from '../core/ids.ts'
import { lastPrompt } from '../core/last-prompt.ts'
import type { Page, PageOptions } from '../core/listing.ts'
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
  const branches = await collectPages(page => store.listBranches(id, page))
  return readAllShown(store, branches, await readOwn(store, id, branches))
}

/** Reads a page of them. Pages are in the order of creation; in each, the most recently active is last. */
export type BranchPageReader = (
  store: ConversationReader & MessageReader,
  id: ConversationId,
  options: PageOptions,
) => Promise<Page<ShownBranch>>

/** How many messages a branch has of its own depends on all branches. The numbers are kept for the next
 *  pages until the conversation changes: those of the last conversation of each store. */
export function createBranchPageReader(): BranchPageReader {
  const kept = new WeakMap<
    object,
    { readonly id: ConversationId; readonly version: number; readonly own: OwnMessages }
  >()
  return async (store, id, options) => {
    const version = await store.versionOf(id)
    const { items, next, skipped } = await store.listBranches(id, options)
    let last = kept.get(store)
    if (last?.id !== id || last.version !== version) {
      const isWhole = options.after === undefined && next === null
      last = { id, version, own: await readOwn(store, id, isWhole ? items : undefined) }
      kept.set(store, last)
    }
    return { items: await readAllShown(store, items, last.own), next, skipped }
  }
}

type OwnMessages = BranchForks['own']

/** A branch that is alone has all of its messages for itself. */
async function readOwn(
  store: ConversationReader & MessageReader,
  id: ConversationId,
  branches?: readonly BranchInfo[],
): Promise<OwnMessages> {
  const [only, ...others] = branches ?? []
  if (only && others.length === 0) return new Map([[only.name, only.messagesSinceBase]])
  return (await readForks(store, id, branches)).own
}

async function readAllShown(
  store: MessageReader,
  branches: readonly BranchInfo[],
  own: OwnMessages,
): Promise<ShownBranch[]> {
  const shown: ShownBranch[] = []
  for (const info of branches) {
    const { prompt, after } = await lastPrompt(store, info.head)
    shown.push({ info, head: after.at(-1) ?? prompt, own: own.get(info.name) ?? 0, prompt })
  }
  return shown.sort((a, b) => a.info.updatedAt.getTime() - b.info.updatedAt.getTime())
}

/** Messages that are read at once for their positions. */
const headsPerRead = 500

/** Reads how the branches share the tree: the position of each head, and the structure, which has one entry
 *  for each fork. `branches` are all of them, if they are known. */
export async function readForks(
  store: ConversationReader & MessageReader,
  id: ConversationId,
  branches?: readonly BranchInfo[],
): Promise<BranchForks> {
  const all = branches ?? (await collectPages(page => store.listBranches(id, page)))
  const stretches = await collectPages(page => store.listStretches(id, page))
  // Most branches end where a stretch ends.
  const seqs = new Map(stretches.map(({ last, lastSeq }) => [last, lastSeq]))
  const within = [...new Set(all.flatMap(({ head }) => (head === null || seqs.has(head) ? [] : head)))]
  for (let at = 0; at < within.length; at += headsPerRead) {
    const read = await store.getMessages(within.slice(at, at + headsPerRead), { blobs: 'preview' })
    for (const message of read) seqs.set(message.id, message.seq)
  }
  const ends = all.map(({ name, head }) => ({ name, head: head === null ? null : { seq: seqs.get(head)! } }))
  return findForks(stretches, ends)
}

/** A name for each of the messages with the same parent: a branch that contains it, or its first words. */
export async function nameSiblings(
  store: Pick<MessageReader, 'getMessages'>,
  forks: Pick<BranchForks, 'siblings'>,
  messageId: MessageId,
): Promise<readonly string[]> {
  const names: string[] = []
  for (const { id, branch } of forks.siblings(messageId))
    names.push(branch ?? (await firstWords(store, id as MessageId)))
  return names
}

async function firstWords(store: Pick<MessageReader, 'getMessages'>, id: MessageId): Promise<string> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  return message ? gistOf(message).split(' ').slice(0, 3).join(' ') : id
}
