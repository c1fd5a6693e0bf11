import { CorruptError, NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { ListPath, Page } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { ReadOptions } from '../../core/ports.ts'
import type { Tail, TailBudget } from '../../core/tail.ts'
import { all, type Program } from '../engine/engine.ts'
import type { ChainRow, Conv, LocatedRow, MessageRow, PathRow } from '../engine/rows.ts'
import { readChain, readLoose } from './content.ts'
import { defaultLimit, numberAfter, writeCursor } from './cursor.ts'
import { needMessage } from './lookup.ts'

export function* getMessages(ids: readonly MessageId[], options: ReadOptions): Program<readonly Message[]> {
  const rows = yield* all('messagesByIds', { ids: [...new Set(ids)] })
  const messages = new Map((yield* readLoose(rows, options.blobs ?? 'whole')).map(m => [m.id, m]))
  const found = ids.map(id => {
    const message = messages.get(id)
    if (!message) throw new NotFoundError('message', id)
    return message
  })
  if (!options.wholeTurns) return found
  const open = new Map<string, ReadonlySet<number>>()
  for (const message of found) {
    if (open.has(message.conversationId)) continue
    const { conv } = yield* needMessage(message.id)
    open.set(message.conversationId, yield* openTurns(conv))
  }
  return found.filter(m => m.turn === null || !open.get(m.conversationId)!.has(m.turn))
}

/** A page of a path, from the root on. The cursor is the depth of the last message. */
export function* listPath(id: MessageId, options: ReadOptions & ListPath): Program<Page<Message>> {
  const { limit = defaultLimit } = options
  const from = numberAfter(options, (options.fromDepth ?? 0) - 1) + 1
  // With the message before the page, whose id is the first one's parent.
  const found = inOrder(
    yield* all('path', { id, from: Math.max(0, from - 1), to: Math.min(deepest, from + limit - 1) }),
  )
  const newest = found.at(-1)
  if (!newest) {
    yield* needMessage(id)
    return { items: [], next: null, skipped: [] }
  }
  const rows = from === 0 ? found : found.slice(1)
  const end = newest.end_depth!
  if (from > 0 && found.length !== Math.min(end - from + 1, limit) + 1)
    throw new CorruptError(`the path of message ${id} has no depth ${from - 1}`)
  const start = { conversationId: newest.conversation_id!, ...(from === 0 ? root : after(found[0]!)) }
  const messages = yield* readChain(rows, start, options.blobs ?? 'whole')
  const last = from + rows.length - 1
  const next = last < end && rows.length > 0 ? writeCursor([last]) : null
  return { items: yield* withoutOpen(id, messages, options), next, skipped: [] }
}

/** Messages of a path with their rows. */
export interface PathRows {
  readonly rows: readonly MessageRow[]
  readonly messages: readonly Message[]
}

/** The messages of a path at the depths from `from` up to `before`, exclusive. */
export function* readPathRows(
  end: LocatedRow,
  from: number,
  before: number,
  blobs: 'whole' | 'preview',
): Program<PathRows> {
  const id = end.id as MessageId
  const found = inOrder(yield* all('path', { id, from: Math.max(0, from - 1), to: before - 1 }))
  const rows = from === 0 ? found : found.slice(1)
  if (rows.length !== before - from)
    throw new CorruptError(`the path of message ${id} has no depth ${from + rows.length}`)
  const start = { conversationId: end.conversation_id, ...(from === 0 ? root : after(found[0]!)) }
  return { rows, messages: yield* readChain(rows, start, blobs) }
}

const root = { parentId: null, depth: 0, tokens: 0 }

/** What a chain follows that begins after this message. */
function after({ id, depth, path_tokens }: MessageRow) {
  return { parentId: id, depth: depth + 1, tokens: path_tokens }
}

/** Deeper than any message, and more tokens than any path has. */
const deepest = 2 ** 31 - 1
const unlimited = 2 ** 53 - 1

/** Reads backwards from a message within the budget, then drops the rest of an incomplete turn. If that
 *  leaves nothing, the newest turn alone exceeds the budget: the tail is its newest part, and names its
 *  beginning. */
export function* tail(named: MessageId, budget: TailBudget, options: ReadOptions): Program<Tail> {
  const id = options.wholeTurns ? yield* beforeOpenTurn(named) : named
  if (id === null) return emptyTail
  return yield* tailOfRows(id, yield* all('tail', { id, ...limitsOf(budget) }), budget, options)
}

export const emptyTail: Tail = { messages: [], turnStart: null, older: 0, olderTokens: 0 }

/** The parameters of the statement `tail`. */
export function limitsOf({ tokens = unlimited, messages = deepest }: TailBudget) {
  return { tokens, messages }
}

/** The tail of a path whose newest messages have been read within the budget. */
export function* tailOfRows(
  id: MessageId,
  found: readonly ChainRow[],
  budget: TailBudget,
  options: ReadOptions,
): Program<Tail> {
  const { tokens, messages } = limitsOf(budget)
  let read = readBackOf(id, found, tokens, messages)
  if (read.rows.length === 0) read = yield* readBack(id, unlimited, 1)
  const begin = read.rows.findIndex(beginsTurn)
  const from = Math.max(0, begin)
  const above = from > 0 ? read.rows[from - 1] : read.before
  const start = { conversationId: read.conversationId, ...(above ? after(above) : root) }
  const kept = yield* readChain(read.rows.slice(from), start, options.blobs ?? 'whole')
  return {
    messages: yield* withoutOpen(id, kept, options),
    turnStart: begin < 0 ? yield* turnStartOf(id, read.rows[0]!, options) : null,
    older: start.depth,
    olderTokens: start.tokens,
  }
}

/** The first message of the turn that this row belongs to, on the path to `id`. */
function* turnStartOf(id: MessageId, row: MessageRow, options: ReadOptions): Program<Message> {
  const { conv } = yield* needMessage(id)
  const begins = row.turn === null ? yield* lastBeginning(id) : yield* idAt(conv, row.turn)
  if (begins === null) throw new CorruptError(`the turn of message ${row.id} has no beginning`)
  const [message] = yield* getMessages([begins as MessageId], { blobs: options.blobs ?? 'whole' })
  return message!
}

/** Outside turns, only reading back shows where the newest exchange begins. */
function* lastBeginning(id: MessageId): Program<string | null> {
  for (let reach = 32; ; reach *= 4) {
    const { rows, depth } = yield* readBack(id, unlimited, reach)
    const begin = rows.findLast(beginsTurn)
    if (begin) return begin.id
    if (reach > 4 * (depth + 32)) return null
  }
}

interface ReadBack {
  readonly rows: readonly MessageRow[]
  /** The message before the oldest one, without its body. */
  readonly before: MessageRow | undefined
  readonly conversationId: string
  /** The depth of the newest message. */
  readonly depth: number
}

/** The newest messages of a path within a budget, oldest first. */
function* readBack(id: MessageId, tokens: number, messages: number): Program<ReadBack> {
  return readBackOf(id, yield* all('tail', { id, tokens, messages }), tokens, messages)
}

function readBackOf(id: MessageId, rows: readonly ChainRow[], tokens: number, messages: number): ReadBack {
  const found = inOrder(rows)
  const newest = found.at(-1)
  if (!newest) throw new NotFoundError('message', id)
  const { depth, path_tokens, conversation_id } = newest
  const oldest = found[0]!
  const isInside =
    oldest.path_tokens - oldest.tokens >= path_tokens - tokens && oldest.depth > depth - messages
  const [before, within] = isInside ? [undefined, found] : [oldest, found.slice(1)]
  return { rows: within, before, conversationId: conversation_id!, depth }
}

/** Whether a turn begins here. Outside turns, a user message or a root counts as a beginning. */
function beginsTurn(row: MessageRow): boolean {
  if (row.turn !== null) return row.turn === row.seq
  return row.role === 'user' || row.parent_seq < 0
}

/** The newest message before an open turn, or null if there is none. */
function* beforeOpenTurn(id: MessageId): Program<MessageId | null> {
  let end = yield* needMessage(id)
  const { conv } = end
  const open = yield* openTurns(conv)
  while (end.turn !== null && open.has(end.turn)) {
    const begin: LocatedRow = yield* needMessage((yield* idAt(conv, end.turn)) as MessageId)
    if (begin.parent_seq < 0) return null
    end = yield* needMessage((yield* idAt(conv, begin.parent_seq)) as MessageId)
  }
  return end.id as MessageId
}

function* idAt(conv: Conv, seq: number): Program<string | null> {
  const [place] = yield* all('placesAt', { conv, seqs: [seq] })
  return place?.id ?? null
}

function* withoutOpen(
  id: MessageId,
  messages: readonly Message[],
  options: ReadOptions,
): Program<readonly Message[]> {
  if (!options.wholeTurns) return messages
  const open = yield* openTurns((yield* needMessage(id)).conv)
  return messages.filter(message => message.turn === null || !open.has(message.turn))
}

function* openTurns(conv: Conv): Program<ReadonlySet<number>> {
  return new Set((yield* all('openTurns', { conv })).map(turn => turn.first))
}

/** Runs come in any order. Usually there is only one. */
function inOrder<Row extends PathRow>(rows: readonly Row[]): readonly Row[] {
  const sorted = rows.every((row, i) => i === 0 || rows[i - 1]!.seq < row.seq)
  return sorted ? rows : [...rows].sort((a, b) => a.seq - b.seq)
}
