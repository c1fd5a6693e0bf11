import type { BranchInfo } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import { CorruptError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { Message } from '../../core/message.ts'
import { modelName } from '../../core/model-name.ts'
import { collectPages } from '../../core/pages.ts'
import type { ConversationReader, Lister, MessageReader, Resolved } from '../../core/ports.ts'
import type { Stretch } from '../../core/runs.ts'
import type { Summary } from '../../core/summary.ts'
import type { Turn, Usage } from '../../core/turn.ts'

/** A chain of messages from a fork or a root to a leaf. Each message of a conversation is in exactly one. */
export interface ExportedLine {
  readonly first: MessageId
  /** The message it forks from; null for a root. */
  readonly from: MessageId | null
  /** The number of its messages. */
  readonly size: number
  /** The branches that end in it. */
  readonly branches: readonly string[]
  readonly last: MessageId
  /** The depth of its first message. */
  readonly depth: number
}

/** Consecutive messages of a line. */
export interface LinePart {
  readonly messages: readonly Message[]
  /** The same messages, and some before and after them: a tool's result may be in the next part. */
  readonly around: readonly Message[]
  /** The turns of the messages, by their first message, which `Message.turn` refers to. */
  readonly turns: ReadonlyMap<number, Turn>
}

/** A whole conversation: first the line that would be continued, then the others. Its messages are read in
 *  parts: they may be larger than the memory. */
export interface ExportedConversation {
  readonly conversation: Conversation
  readonly lines: readonly ExportedLine[]
  readonly branches: readonly BranchInfo[]
  readonly summaries: readonly Summary[]
  /** The messages of a line. Unreadable ones are left out and counted. */
  parts(line: ExportedLine): AsyncGenerator<LinePart>
  /** The number of unreadable messages so far. */
  readonly unreadable: number
  /** `You`, a model or a tool. */
  speaker(message: Message, part: Pick<LinePart, 'turns'>): string
}

/** What the turn of a message used, at its last message; null elsewhere. */
export function usageAt({ seq, turn: first }: Message, { turns }: Pick<LinePart, 'turns'>): Usage | null {
  const turn = first === null ? undefined : turns.get(first)
  return turn?.last === seq && Object.keys(turn.usage).length > 0 ? turn.usage : null
}

/** The messages of a part. */
const partSize = 500

/** Reads the structure of a conversation. The first line is the path of the requested message or branch. */
export async function readExportedConversation(
  store: ConversationReader & MessageReader & Lister,
  { conversation, branch, message }: Resolved,
): Promise<ExportedConversation> {
  const { id } = conversation
  const branches = await collectPages(page => store.listBranches(id, page))
  const ends = [...new Set([...branches.map(({ head }) => head), message].filter(head => head !== null))]
  const heads = new Map<MessageId, number>()
  for (const { id: end, seq } of await store.getMessages(ends, { blobs: 'preview' })) heads.set(end, seq)
  const stretches = await collectPages(page => store.listStretches(id, page))
  const positions = branches.map(({ name, head }) => ({ name, seq: head === null ? -1 : heads.get(head)! }))
  const end = message ?? branch.head
  const split = splitIntoLines(stretches, end === null ? null : { id: end, seq: heads.get(end)! }, positions)
  const lines: ExportedLine[] = []
  for (const line of split) lines.push({ ...line, first: line.first ?? (await idAt(line.last, line.depth)) })
  let unreadable = 0
  return {
    conversation,
    branches,
    lines,
    summaries: await collectPages(page => store.listSummaries(id, page)),
    get unreadable() {
      return unreadable
    },
    async *parts(line) {
      let [before, messages]: [readonly Message[], readonly Message[] | null] = [[], null]
      for await (const next of pagesOf(line)) {
        if (messages !== null) yield await partOf(messages, [...before, ...messages, ...next])
        before = messages ?? []
        messages = next
      }
      if (messages !== null) yield await partOf(messages, [...before, ...messages])
    },
    speaker: (said, { turns }) =>
      speakerOf(said, (said.turn === null ? null : turns.get(said.turn)?.model) ?? conversation.model),
  }

  async function partOf(messages: readonly Message[], around: readonly Message[]): Promise<LinePart> {
    const firsts = [...new Set(messages.flatMap(({ turn }) => turn ?? []))]
    const { items } = await store.listTurns(id, { firsts, limit: partSize })
    return { messages, around, turns: new Map(items.map(turn => [turn.first, turn])) }
  }

  async function idAt(last: MessageId, fromDepth: number): Promise<MessageId> {
    const [found] = (await store.listPath(last, { fromDepth, limit: 1, blobs: 'preview' })).items
    return found!.id
  }

  async function* pagesOf({ last, depth, size }: ExportedLine): AsyncGenerator<readonly Message[]> {
    for (let done = 0; done < size; done += partSize) {
      const limit = Math.min(partSize, size - done)
      yield await readSome(last, depth + done, limit)
    }
  }

  /** Reads one by one what cannot be read at once. */
  async function readSome(last: MessageId, fromDepth: number, limit: number): Promise<readonly Message[]> {
    try {
      return (await store.listPath(last, { fromDepth, limit })).items
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error
      if (limit === 1) {
        unreadable++
        return []
      }
      const half = Math.floor(limit / 2)
      return [
        ...(await readSome(last, fromDepth, half)),
        ...(await readSome(last, fromDepth + half, limit - half)),
      ]
    }
  }
}

function speakerOf({ role }: Message, model: string | null): string {
  switch (role) {
    case 'user':
      return 'You'
    case 'assistant':
      return model === null ? 'Assistant' : modelName(model)
    case 'tool_result':
      return 'Tool'
    case 'system':
      return 'System'
  }
}

/** The place of a message in its conversation. */
interface Position {
  readonly id: MessageId
  readonly seq: number
}

/** A line by its structure. `first` is null if it begins within a stretch, whose messages are not known. */
export type SplitLine = Omit<ExportedLine, 'first'> & { readonly first: MessageId | null }

/** A stretch, without its first messages if those are in another line. */
interface Piece {
  readonly stretch: Stretch
  readonly skipped: number
}

/** Splits a tree into lines. The first ends with `head`. Stretches are in order of seq, so parents precede
 *  their children. */
export function splitIntoLines(
  stretches: readonly Stretch[],
  head: Position | null,
  branches: readonly { readonly name: string; readonly seq: number }[],
): readonly SplitLine[] {
  const byLast = new Map(stretches.map(stretch => [stretch.last as string, stretch]))
  const above = ({ parent }: Stretch) => (parent === null ? undefined : byLast.get(parent))
  const children = Map.groupBy(stretches, ({ parent }) => parent)
  const depths = new Map<Stretch, number>()
  for (const stretch of stretches) {
    const parent = above(stretch)
    depths.set(stretch, parent ? depths.get(parent)! + parent.messages : 0)
  }
  const placed = new Set<Stretch>()
  const lines: SplitLine[] = []
  let rest: Piece | null = null
  const ending = stretches.find(one => head !== null && one.firstSeq <= head.seq && head.seq <= one.lastSeq)
  if (head !== null && ending) {
    const path: Piece[] = []
    for (let at: Stretch | undefined = ending; at; at = above(at)) path.unshift({ stretch: at, skipped: 0 })
    for (const { stretch } of path) placed.add(stretch)
    // The messages between the ends of a stretch have the seqs between.
    const taken = head.seq - ending.firstSeq + 1
    add(path, head, taken)
    if (taken < ending.messages) rest = { stretch: ending, skipped: taken }
  }
  for (const stretch of stretches) {
    if (rest?.stretch === stretch) add(chainFrom(rest), null, 0)
    else if (!placed.has(stretch)) add(chainFrom({ stretch, skipped: 0 }), null, 0)
  }
  return lines

  function chainFrom(first: Piece): readonly Piece[] {
    const chain = [first]
    placed.add(first.stretch)
    for (;;) {
      const next = children.get(chain.at(-1)!.stretch.last)?.find(child => !placed.has(child))
      if (!next) return chain
      placed.add(next)
      chain.push({ stretch: next, skipped: 0 })
    }
  }

  /** `end` is the last message if it is not the last of its stretch, and `taken` its place there. */
  function add(pieces: readonly Piece[], end: Position | null, taken: number): void {
    const [{ stretch, skipped }, last] = [pieces[0]!, pieces.at(-1)!.stretch]
    const whole = pieces.reduce((sum, piece) => sum + piece.stretch.messages - piece.skipped, 0)
    const isWithin = (seq: number) =>
      pieces.some(({ stretch: one, skipped: before }) => one.firstSeq + before <= seq && seq <= one.lastSeq)
    lines.push({
      first: skipped === 0 ? stretch.first : null,
      from: skipped === 0 ? stretch.parent : head!.id,
      size: end === null ? whole : whole - last.messages + taken,
      branches: branches
        .filter(({ seq }) => isWithin(seq) && (end === null || seq <= end.seq))
        .toSorted((a, b) => a.seq - b.seq)
        .map(({ name }) => name),
      last: end?.id ?? last.last,
      depth: depths.get(stretch)! + skipped,
    })
  }
}
