import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { Resolved, Store } from '../../core/ports.ts'
import type { Summary } from '../../core/records.ts'
import type { Turn } from '../../core/turn.ts'
import { type ConversationFacts, readFacts } from './conversation-facts.ts'
import { forksOf } from './forks.ts'
import { gistOf } from './gist.ts'

/** A path of a conversation, and what is shown with it. */
export interface Shown {
  readonly facts: ConversationFacts
  readonly branch: string
  readonly path: readonly Message[]
  /** By the seq of their first message: what `Message.turn` names. */
  readonly turns: ReadonlyMap<number, Turn>
  /** By the message they end with. */
  readonly summaries: ReadonlyMap<string, Summary>
  /** By message: the names of what begins beside it, itself among them, and which of them it is. */
  readonly siblings: ReadonlyMap<string, SiblingNames>
  /** Runs of subagents, by the message they were started from. */
  readonly traces: ReadonlyMap<string, readonly ListedConversation[]>
}

export interface SiblingNames {
  readonly at: number
  readonly names: readonly string[]
}

/** Reads the path that ends with a message, or with the head of a branch. */
export async function readShown(
  store: Store,
  { conversation, branch, message }: Resolved,
  now: number,
): Promise<Shown> {
  const { id } = conversation
  const end = message ?? branch.head
  const path = end === null ? [] : await store.path(end)
  const [facts] = await readFacts(store, [{ ...conversation, branch }], now)
  const turns = new Map((await store.listTurns(id)).map(turn => [turn.first, turn]))
  const onPath = new Set<string>(path.map(one => one.id))
  const summaries = (await store.listSummaries(id)).filter(
    one => onPath.has(one.first) && onPath.has(one.last),
  )
  return {
    facts: { ...facts!, pathMessages: path.length },
    branch: message === null ? branch.name : await branchThrough(store, id, message, branch.name),
    path,
    turns,
    summaries: new Map(summaries.map(one => [one.last, one])),
    siblings: await readSiblings(store, id, path),
    traces: await readTraces(store, id),
  }
}

/** The branch that a message is on: the active one if it can be, otherwise the first that goes through it. */
async function branchThrough(
  store: Store,
  id: ConversationId,
  message: MessageId,
  active: string,
): Promise<string> {
  const branches = (await store.listBranches(id)).toSorted((a, b) => Number(b.active) - Number(a.active))
  for (const { name, head } of branches) {
    if (head === message) return name
  }
  const { seq, depth } = (await store.getMessages([message], { blobs: 'preview' }))[0]!
  for (const { name, head } of branches) {
    if (head === null) continue
    const [end] = await store.getMessages([head], { blobs: 'preview' })
    // On a path, the message at a depth is the only one.
    if (!end || end.depth < depth || end.seq < seq) continue
    const path = await store.path(head, { blobs: 'preview' })
    if (path[depth]?.id === message) return name
  }
  return active
}

async function readSiblings(
  store: Store,
  id: ConversationId,
  path: readonly Message[],
): Promise<ReadonlyMap<string, SiblingNames>> {
  const runs = await store.structure(id)
  const branches = await store.listBranches(id)
  if (runs.length < 2) return new Map()
  const heads = branches.flatMap(({ head }) => head ?? [])
  const ends = new Map((await store.getMessages(heads, { blobs: 'preview' })).map(one => [one.id, one]))
  const forks = forksOf(
    runs,
    branches.map(({ name, head }) => ({ name, head: head === null ? null : ends.get(head)! })),
  )
  const named = new Map<string, SiblingNames>()
  for (const { id: messageId } of path) {
    const siblings = forks.siblings(messageId)
    if (siblings.length === 0) continue
    const names: string[] = []
    for (const { id: first, branches: through } of siblings) {
      names.push(through[0] ?? (await firstWords(store, first as MessageId)))
    }
    named.set(messageId, { at: siblings.findIndex(one => one.id === messageId) + 1, names })
  }
  return named
}

async function firstWords(store: Store, id: MessageId): Promise<string> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  return message ? gistOf(message).split(' ').slice(0, 3).join(' ') : id
}

async function readTraces(
  store: Store,
  id: ConversationId,
): Promise<ReadonlyMap<string, readonly ListedConversation[]>> {
  const { items } = await store.listConversations({ parent: id, limit: 1000 })
  return Map.groupBy(items.toReversed(), ({ parent }) => parent?.messageId ?? '')
}
