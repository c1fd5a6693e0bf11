import { nameSiblings, readForks } from '../../api/read-branches.ts'
import type { BranchForks } from '../../core/branch-forks.ts'
import type { ConversationId, MessageId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { ConversationOverview, OverviewReader } from '../../core/overview.ts'
import { itemsOf } from '../../core/pages.ts'
import type { PathSection, PathSectionReader, ToolTime } from '../../core/path-section.ts'
import type { ConversationReader, Lister, MessageReader, Resolved } from '../../core/ports.ts'
import type { Summary } from '../../core/summary.ts'
import type { Turn } from '../../core/turn.ts'

/** A path of a conversation, which is read in parts: it may be larger than the memory. */
export interface ShownPath {
  readonly facts: ConversationOverview
  readonly branch: string
  /** Its last message; null for an empty branch. */
  readonly end: Message | null
  /** The draft of an unfinished answer at the end of the path, or null. */
  readonly draft: ShownDraft | null
  /** The parts of the path, in order. */
  parts(which?: PathRange): AsyncGenerator<PathPart>
  /** Whether a message is on the path. */
  contains(message: Pick<Message, 'id' | 'depth'>): Promise<boolean>
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
  readonly facts: ConversationOverview
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
  readonly toolTimes: ToolDurations
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

/** The ports that a path is read through. */
export type PathReader = ConversationReader & MessageReader & Lister & OverviewReader & PathSectionReader

/** Finds the path that ends with a message, or with the head of a branch. */
export async function readShownPath(
  store: PathReader,
  { conversation, branch, message }: Resolved,
): Promise<ShownPath> {
  const { id } = conversation
  const endId = message ?? branch.head
  const [end = null] = endId === null ? [] : await store.getMessages([endId], { blobs: 'preview' })
  const [read] = await store.readOverviews([{ ...conversation, branch }])
  const facts = { ...read!, pathMessages: end === null ? 0 : end.depth + 1 }
  // Only forks, and a path that ends with any message, need the shape of the whole tree.
  let reading: Promise<BranchForks> | undefined
  const forks = () => {
    reading ??= readForks(store, id)
    return reading
  }
  return {
    facts,
    branch: message === null ? branch.name : branchOf(await forks(), end, branch.name),
    end,
    draft: await readDraft(store, facts.openTurns, end),
    async contains({ id: messageId, depth }) {
      if (end === null || depth > end.depth) return false
      const { messages } = await store.readPathSection(end.id, { from: depth, limit: 1, blobs: 'preview' })
      return messages[0]?.id === messageId
    },
    async *parts(which = {}) {
      if (end === null) return
      const traces = await readTraces(store, id)
      const order = which.newest === undefined ? 'ascending' : 'descending'
      const summariesOf = summaryReader(store, id, order)
      for await (const { section, messages, around } of readSections(store, end, which)) {
        yield {
          facts,
          messages,
          around,
          turns: new Map(section.turns.map(turn => [turn.first, turn])),
          summaries: await summariesOf(messages),
          siblings: await siblingsOf(store, forks, section),
          traces,
          toolTimes: durationsOf(section.toolTimes),
        }
      }
    },
  }
}

interface SectionPart extends Pick<PathPart, 'messages' | 'around'> {
  readonly section: PathSection
}

async function* readSections(
  store: PathSectionReader,
  end: Message,
  { newest, fromDepth = 0 }: PathRange,
): AsyncGenerator<SectionPart> {
  const wanted = Math.min(newest ?? Number.POSITIVE_INFINITY, end.depth + 1 - fromDepth)
  if (newest !== undefined || wanted <= partSize) {
    // The calls of the first results may be before them.
    const limit = Math.max(1, Math.min(2 * wanted, 1_000))
    const section = await store.readPathSection(end.id, { limit })
    return yield { section, messages: section.messages.slice(-wanted), around: section.messages }
  }
  let before: readonly Message[] = []
  let section: PathSection | null = null
  for (let from = fromDepth; from <= end.depth; from += partSize) {
    const next: PathSection = await store.readPathSection(end.id, { from, limit: partSize })
    if (section !== null) {
      const { messages } = section
      yield { section, messages, around: [...before, ...messages, ...next.messages] }
      before = messages
    }
    section = next
  }
  if (section !== null)
    yield { section, messages: section.messages, around: [...before, ...section.messages] }
}

/** Includes the draft of a dead process, which becomes a message only when the next turn begins. */
async function readDraft(
  store: Pick<MessageReader, 'readDraft'>,
  openTurns: readonly Turn[],
  end: Message | null,
): Promise<ShownDraft | null> {
  for (const turn of openTurns) {
    if (turn.last !== end?.seq) continue
    let text = ''
    for await (const piece of itemsOf(page => store.readDraft(turn.conversationId, turn.key, page)))
      if (piece.type === 'text') text += piece.text
    if (text !== '') return { turn, text }
  }
  return null
}

/** How long a tool call took; null if it was not traced. */
type ToolDurations = (message: MessageId, callId: string) => number | null

/** Some recorders trace the message of a call, others only the id of the call. */
function durationsOf(times: readonly ToolTime[]): ToolDurations {
  const took = new Map<string, number>()
  for (const { messageId, callId, startedAt, endedAt } of times) {
    if (endedAt !== null) took.set(`${messageId ?? ''} ${callId}`, endedAt.getTime() - startedAt.getTime())
  }
  return (message, callId) => took.get(`${message} ${callId}`) ?? took.get(` ${callId}`) ?? null
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
  forks: () => Promise<BranchForks>,
  section: PathSection,
): Promise<ReadonlyMap<string, SiblingNames>> {
  const named = new Map<string, SiblingNames>()
  for (const { messageId, siblings } of section.siblings) {
    const names = await nameSiblings(store, await forks(), messageId)
    named.set(messageId, { at: siblings.indexOf(messageId) + 1, ids: siblings, names })
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
