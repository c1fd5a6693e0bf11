import { nameSiblings } from '../../api/name-siblings.ts'
import { type BranchForks, findForks } from '../../core/branch-forks.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import { collectPages, itemsOf } from '../../core/pages.ts'
import type { ConversationReader, Lister, MessageReader, Resolved } from '../../core/ports.ts'
import type { Summary } from '../../core/summary.ts'
import type { Turn } from '../../core/turn.ts'
import { type ConversationFacts, readConversationFacts } from './conversation-facts.ts'

/** A path of a conversation, which is read in parts: it may be larger than the memory. */
export interface ShownPath {
  readonly facts: ConversationFacts
  readonly branch: string
  /** Its last message; null for an empty branch. */
  readonly end: Message | null
  /** The draft of an unfinished answer at the end of the path, or null. */
  readonly draft: ShownDraft | null
  /** The parts of the path, in order. */
  parts(which?: PathRange): AsyncGenerator<PathPart>
  /** Whether a message is on the path. */
  contains(message: Pick<Message, 'seq'>): boolean
}

/** Which messages of a path to read. Default: all. */
export interface PathRange {
  /** Only this many of the newest messages. */
  readonly newest?: number
  /** Only messages from this depth on. */
  readonly fromDepth?: number
}

/** Consecutive messages of a path, with everything that is shown with them. */
export interface PathPart {
  readonly facts: ConversationFacts
  readonly messages: readonly Message[]
  /** The same messages, and some before and after them: a tool's result may be in the next part. */
  readonly around: readonly Message[]
  /** By the seq of their first message, which `Message.turn` refers to. */
  readonly turns: ReadonlyMap<number, Turn>
  /** By their last message. */
  readonly summaries: ReadonlyMap<string, ShownSummary>
  /** By message: the names of its siblings, including its own, and its number among them. */
  readonly siblings: ReadonlyMap<string, SiblingNames>
  /** Subagent runs, by the message that started them. */
  readonly traces: ReadonlyMap<string, readonly ListedConversation[]>
  /** How long the tool calls took. */
  readonly toolTimes: ToolTimes
}

export interface ShownDraft {
  readonly turn: Turn
  readonly text: string
}

export interface ShownSummary extends Summary {
  /** How many messages it covers. */
  readonly covers: number
}

export interface SiblingNames {
  readonly at: number
  readonly ids: readonly string[]
  readonly names: readonly string[]
}

/** The messages of a part. */
const partSize = 500

/** Finds the path that ends with a message, or with the head of a branch. */
export async function readShownPath(
  store: ConversationReader & MessageReader & Lister,
  { conversation, branch, message }: Resolved,
  now: number,
): Promise<ShownPath> {
  const { id } = conversation
  const endId = message ?? branch.head
  const [end = null] = endId === null ? [] : await store.getMessages([endId], { blobs: 'preview' })
  const [read] = await readConversationFacts(store, [{ ...conversation, branch }], now)
  const facts = { ...read!, pathMessages: end === null ? 0 : end.depth + 1 }
  const forks = await readForks(store, id)
  return {
    facts,
    branch: message === null ? branch.name : branchOf(forks, end, branch.name),
    end,
    draft: await readDraft(store, id, end),
    contains: ({ seq }) => end !== null && forks.isOnPath(seq, end.seq),
    async *parts(which = {}) {
      if (end === null) return
      const traces = await readTraces(store, id)
      const toolTimes = await readToolTimes(store, id)
      const order = which.newest === undefined ? 'ascending' : 'descending'
      const turnsOf = turnReader(store, id, order)
      const summariesOf = summaryReader(store, id, order)
      for await (const { messages, around } of readMessages(store, end, which)) {
        yield {
          facts,
          messages,
          around,
          turns: await turnsOf(messages),
          summaries: await summariesOf(messages),
          siblings: await siblingsOf(store, forks, messages),
          traces,
          toolTimes,
        }
      }
    },
  }
}

type MessagesOfPart = Pick<PathPart, 'messages' | 'around'>

async function* readMessages(
  store: MessageReader,
  end: Message,
  { newest, fromDepth = 0 }: PathRange,
): AsyncGenerator<MessagesOfPart> {
  const wanted = Math.min(newest ?? Number.POSITIVE_INFINITY, end.depth + 1 - fromDepth)
  // A tail reads nothing before it, but is one piece. It begins with a turn, so it may be shorter than asked.
  if (wanted <= partSize) {
    const { messages: tail } = await store.tail(end.id, { messages: 2 * wanted })
    const messages = tail.slice(-wanted)
    if (newest !== undefined || messages.length === wanted) return yield { messages, around: tail }
  }
  let [before, messages]: [readonly Message[], readonly Message[] | null] = [[], null]
  for await (const next of pagesOf(store, end.id, fromDepth)) {
    if (messages?.length) yield { messages, around: [...before, ...messages, ...next] }
    before = messages ?? []
    messages = next
  }
  if (messages?.length) yield { messages, around: [...before, ...messages] }
}

async function* pagesOf(
  store: Pick<MessageReader, 'listPath'>,
  end: MessageId,
  fromDepth: number,
): AsyncGenerator<readonly Message[]> {
  for (let after: string | null | undefined; after !== null; ) {
    const page: Awaited<ReturnType<MessageReader['listPath']>> = await store.listPath(end, {
      limit: partSize,
      fromDepth,
      ...(after !== undefined && { after }),
    })
    yield page.items
    after = page.next
  }
}

/** Reads the turns of one part after the other. The newest part alone is read from the end. */
function turnReader(
  store: Pick<MessageReader, 'listTurns'>,
  id: ConversationId,
  order: 'ascending' | 'descending',
): (messages: readonly Message[]) => Promise<ReadonlyMap<number, Turn>> {
  const known = new Map<number, Turn>()
  const turns = itemsOf(page => store.listTurns(id, { ...page, order }))
  let reached = order === 'ascending' ? -1 : Number.POSITIVE_INFINITY
  return async messages => {
    const wanted = messages.flatMap(({ turn }) => turn ?? [])
    // The turns of a path begin in its order.
    const [oldest, newest] = [wanted[0], wanted.at(-1)]
    if (oldest === undefined || newest === undefined) return new Map()
    while (order === 'ascending' ? reached < newest : reached > oldest) {
      const { value: turn, done } = await turns.next()
      if (done) break
      reached = turn.first
      known.set(turn.first, turn)
    }
    for (const first of known.keys()) if (first < oldest) known.delete(first)
    return new Map(known)
  }
}

/** Includes the draft of a dead process, which becomes a message only when the next turn begins. */
async function readDraft(
  store: MessageReader,
  id: ConversationId,
  end: Message | null,
): Promise<ShownDraft | null> {
  for (const turn of await collectPages(page => store.listTurns(id, { status: 'open', ...page }))) {
    if (turn.last !== end?.seq) continue
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

/** Reads the summaries that end in one part after the other, in the order of their last messages. A summary
 *  whose end is on the path is on it as a whole. */
function summaryReader(
  store: Pick<MessageReader, 'getMessages' | 'listSummaries'>,
  id: ConversationId,
  order: 'ascending' | 'descending',
): (messages: readonly Message[]) => Promise<ReadonlyMap<string, ShownSummary>> {
  const summaries = itemsOf(page => store.listSummaries(id, { ...page, order }))
  const known = new Map<string, { readonly summary: Summary; readonly last: Message }>()
  let reached = order === 'ascending' ? -1 : Number.POSITIVE_INFINITY
  return async messages => {
    const [oldest, newest] = [messages[0], messages.at(-1)]
    if (!oldest || !newest) return new Map()
    while (order === 'ascending' ? reached < newest.seq : reached > oldest.seq) {
      const { value: summary, done } = await summaries.next()
      if (done) break
      const [last] = await store.getMessages([summary.last], { blobs: 'preview' })
      reached = last!.seq
      known.set(summary.last, { summary, last: last! })
    }
    const shown = new Map<string, ShownSummary>()
    for (const message of messages) {
      const found = known.get(message.id)
      if (!found) continue
      const [first] = await store.getMessages([found.summary.first], { blobs: 'preview' })
      shown.set(message.id, { ...found.summary, covers: message.depth - first!.depth + 1 })
    }
    for (const [end, { last }] of known) if (last.seq <= newest.seq) known.delete(end)
    return shown
  }
}

async function siblingsOf(
  store: MessageReader,
  forks: BranchForks,
  messages: readonly Message[],
): Promise<ReadonlyMap<string, SiblingNames>> {
  const named = new Map<string, SiblingNames>()
  for (const { id } of messages) {
    const ids = forks.siblings(id).map(one => one.id)
    if (ids.length > 0)
      named.set(id, { at: ids.indexOf(id) + 1, ids, names: await nameSiblings(store, forks, id) })
  }
  return named
}

/** The branch of a path: the active one if it contains the path, otherwise the first that does. */
function branchOf(forks: BranchForks, end: Message | null, active: string): string {
  const through = end === null ? [] : forks.through(end.seq)
  return through.includes(active) ? active : (through[0] ?? active)
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
