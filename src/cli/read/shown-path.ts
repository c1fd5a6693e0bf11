import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import { collectPages } from '../../core/pages.ts'
import { pathOf } from '../../core/path.ts'
import type { ConversationReader, Lister, MessageReader, Resolved } from '../../core/ports.ts'
import type { Summary } from '../../core/summary.ts'
import type { Turn } from '../../core/turn.ts'
import { gistOf } from '../output/gist.ts'
import { type BranchForks, findForks } from './branch-forks.ts'
import { type ConversationFacts, readConversationFacts } from './conversation-facts.ts'

/** A path of a conversation, with everything that is shown with it. */
export interface ShownPath {
  readonly facts: ConversationFacts
  readonly branch: string
  readonly path: readonly Message[]
  /** By the seq of their first message, which `Message.turn` refers to. */
  readonly turns: ReadonlyMap<number, Turn>
  /** By their last message. */
  readonly summaries: ReadonlyMap<string, Summary>
  /** By message: the names of its siblings, including its own, and its number among them. */
  readonly siblings: ReadonlyMap<string, SiblingNames>
  /** Subagent runs, by the message that started them. */
  readonly traces: ReadonlyMap<string, readonly ListedConversation[]>
  /** How long the tool calls took. */
  readonly toolTimes: ToolTimes
  /** The draft of an unfinished answer at the end of the path, or null. */
  readonly draft: ShownDraft | null
}

export interface ShownDraft {
  readonly turn: Turn
  readonly text: string
}

export interface SiblingNames {
  readonly at: number
  readonly names: readonly string[]
}

/** Reads the path that ends with a message, or with the head of a branch. */
export async function readShownPath(
  store: ConversationReader & MessageReader & Lister,
  { conversation, branch, message }: Resolved,
  now: number,
): Promise<ShownPath> {
  const { id } = conversation
  const end = message ?? branch.head
  const path = end === null ? [] : await pathOf(store, end)
  const [facts] = await readConversationFacts(store, [{ ...conversation, branch }], now)
  const forks = await readForks(store, id)
  const turns = new Map(
    (await collectPages(page => store.listTurns(id, page))).map(turn => [turn.first, turn]),
  )
  const onPath = new Set<string>(path.map(one => one.id))
  const summaries = (await collectPages(page => store.listSummaries(id, page))).filter(
    one => onPath.has(one.first) && onPath.has(one.last),
  )
  return {
    facts: { ...facts!, pathMessages: path.length },
    branch: message === null ? branch.name : branchOf(forks, path, branch.name),
    path,
    turns,
    summaries: new Map(summaries.map(one => [one.last, one])),
    siblings: await nameSiblings(store, forks, path),
    traces: await readTraces(store, id),
    toolTimes: await readToolTimes(store, id),
    draft: await readDraft(store, turns.values(), path.at(-1)),
  }
}

/** Includes the draft of a dead process, which becomes a message only when the next turn begins. */
async function readDraft(
  store: MessageReader,
  turns: Iterable<Turn>,
  end: Message | undefined,
): Promise<ShownDraft | null> {
  for (const turn of turns) {
    if (turn.status !== 'open' || turn.last !== end?.seq) continue
    const pieces = await collectPages(page => store.readDraft(turn.conversationId, turn.key, page))
    const text = pieces.flatMap(piece => (piece.type === 'text' ? piece.text : [])).join('')
    if (text !== '') return { turn, text }
  }
  return null
}

/** Reads how the branches share the tree. */
async function readForks(
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

async function nameSiblings(
  store: MessageReader,
  forks: BranchForks,
  path: readonly Message[],
): Promise<ReadonlyMap<string, SiblingNames>> {
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

/** The branch of a path: the active one if it contains the path, otherwise the first that does. */
function branchOf(forks: BranchForks, path: readonly Message[], active: string): string {
  const through = path.length === 0 ? [] : forks.through(path.at(-1)!.seq)
  return through.includes(active) ? active : (through[0] ?? active)
}

async function firstWords(store: MessageReader, id: MessageId): Promise<string> {
  const [message] = await store.getMessages([id], { blobs: 'preview' })
  return message ? gistOf(message).split(' ').slice(0, 3).join(' ') : id
}

async function readTraces(
  store: Lister,
  id: ConversationId,
): Promise<ReadonlyMap<string, readonly ListedConversation[]>> {
  const { items } = await store.listConversations({ parent: id, limit: 1000 })
  return Map.groupBy(items.toReversed(), ({ parent }) => parent?.messageId ?? '')
}

/** How long a tool call took, by its start and end events; null without them. */
type ToolTimes = (message: MessageId, callId: string) => number | null

/** The most events to read. Older calls are shown without a duration. */
const mostEvents = 10_000

/** Reads the durations of tool calls. Some recorders store the message of a call in the event, others only
 *  the call id. */
async function readToolTimes(
  store: Pick<MessageReader, 'listEvents'>,
  id: ConversationId,
): Promise<ToolTimes> {
  const types = ['tool_started', 'tool_ended'] as const
  const newest = await store.listEvents(id, { types, order: 'descending', limit: mostEvents })
  const events = newest.items.toReversed()
  const started = new Map<string, number>()
  const took = new Map<string, number>()
  for (const { type, createdAt: at, data } of events) {
    const key = keyOf(typeof data.message === 'string' ? data.message : '', data.call ?? data.callId)
    const from = started.get(key)
    if (type === 'tool_started') started.set(key, at.getTime())
    else if (from !== undefined) took.set(key, at.getTime() - from)
  }
  return (message, callId) => took.get(keyOf(message, callId)) ?? took.get(keyOf('', callId)) ?? null
}

function keyOf(message: string, call: unknown): string {
  return `${message} ${String(call)}`
}
