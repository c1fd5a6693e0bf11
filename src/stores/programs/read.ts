import { CorruptError, NotFoundError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { ListPath, Page } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { ReadOptions, Tail, TailBudget } from '../../core/ports.ts'
import type { SeqRange } from '../../core/runs.ts'
import { all, type Program } from '../engine/engine.ts'
import type { Conv, LocatedRow, MessageRow, PathRow } from '../engine/rows.ts'
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
  const end = yield* needMessage(id)
  const { conv, conversation_id: conversationId } = end
  const { limit = defaultLimit } = options
  const from = numberAfter(options, (options.fromDepth ?? 0) - 1) + 1
  const isWhole = from === 0 && limit > end.depth
  const rows = isWhole
    ? inOrder<MessageRow | PathRow>(yield* all('path', { conv, seq: end.seq }))
    : yield* pathBetween(end, from, limit)
  const [oldest] = rows
  const isCutOff = !isWhole && oldest !== undefined && from > 0
  const start = isCutOff ? yield* startAt(end, oldest as MessageRow) : { conversationId, ...root }
  const messages = yield* readChain(rows, start, options.blobs ?? 'whole')
  const last = from + rows.length - 1
  const next = last < end.depth && rows.length > 0 ? writeCursor([last]) : null
  return { items: yield* withoutOpen(conv, messages, options), next, skipped: [] }
}

const root = { parentId: null, depth: 0, tokens: 0 }

/** The messages of a path at these depths. */
function* pathBetween(end: LocatedRow, from: number, limit: number): Program<readonly MessageRow[]> {
  if (from > end.depth) return []
  const to = Math.min(end.depth, from + limit - 1)
  const last = to === end.depth ? end.seq : seqAtDepth(yield* pathRuns(end), to)
  return inOrder(
    yield* all('tail', { conv: end.conv, seq: last, tokens: unlimited, messages: to - from + 1 }),
  )
}

function* pathRuns({ conv, seq }: LocatedRow): Program<readonly SeqRange[]> {
  return yield* all('pathRuns', { conv, seq })
}

/** The seq of the message at a depth of a path. Each step of a run is one deeper. */
function seqAtDepth(runs: readonly SeqRange[], depth: number): number {
  let above = depth
  for (const { lo, hi } of [...runs].sort((a, b) => a.lo - b.lo)) {
    if (above <= hi - lo) return lo + above
    above -= hi - lo + 1
  }
  throw new CorruptError(`the path ends before depth ${depth}`)
}

/** What the chain that begins at this message follows. */
function* startAt(end: LocatedRow, oldest: MessageRow) {
  const parentId = oldest.parent_seq < 0 ? null : yield* idAt(end.conv, oldest.parent_seq)
  const tokens = oldest.path_tokens - oldest.tokens
  return { conversationId: end.conversation_id, parentId, depth: oldest.depth, tokens }
}

/** Longer than any path. */
const unlimited = 2 ** 53 - 1

/** Reads backwards from a message within the budget, then drops the rest of an incomplete turn. If the
 *  newest turn alone exceeds the budget, it is read whole, because the next answer needs it. */
export function* tail(id: MessageId, budget: TailBudget, options: ReadOptions): Program<Tail> {
  const named = yield* needMessage(id)
  const end = options.wholeTurns ? yield* beforeOpenTurn(named) : named
  if (!end) return { messages: [], older: 0, olderTokens: 0 }
  let rows = yield* readBack(end, budget.tokens ?? unlimited, budget.messages ?? unlimited)
  let from = rows.findIndex(beginsTurn)
  for (let reach = 32; from < 0; reach *= 4) {
    if (reach > 4 * (end.depth + 32)) throw new CorruptError(`the path of message ${id} has no beginning`)
    rows = yield* readBack(end, unlimited, reach)
    from = rows.findLastIndex(beginsTurn)
  }
  const oldest = rows[from]!
  const older = { depth: oldest.depth, tokens: oldest.path_tokens - oldest.tokens }
  const start = yield* startAt(end, oldest)
  const kept = yield* readChain(rows.slice(from), start, options.blobs ?? 'whole')
  return {
    messages: yield* withoutOpen(end.conv, kept, options),
    older: older.depth,
    olderTokens: older.tokens,
  }
}

/** Whether a turn begins here. Outside turns, a user message or a root counts as a beginning. */
function beginsTurn(row: MessageRow): boolean {
  if (row.turn !== null) return row.turn === row.seq
  return row.role === 'user' || row.parent_seq < 0
}

/** The newest message before an open turn, or null if there is none. */
function* beforeOpenTurn(message: LocatedRow): Program<LocatedRow | null> {
  const open = yield* openTurns(message.conv)
  const { conv } = message
  let end = message
  while (end.turn !== null && open.has(end.turn)) {
    const begin: LocatedRow = yield* needMessage((yield* idAt(conv, end.turn)) as MessageId)
    if (begin.parent_seq < 0) return null
    end = yield* needMessage((yield* idAt(conv, begin.parent_seq)) as MessageId)
  }
  return end
}

function* readBack(end: LocatedRow, tokens: number, messages: number): Program<readonly MessageRow[]> {
  return inOrder(yield* all('tail', { conv: end.conv, seq: end.seq, tokens, messages }))
}

function* idAt(conv: Conv, seq: number): Program<string | null> {
  const [place] = yield* all('placesAt', { conv, seqs: [seq] })
  return place?.id ?? null
}

function* withoutOpen(
  conv: Conv,
  messages: readonly Message[],
  options: ReadOptions,
): Program<readonly Message[]> {
  if (!options.wholeTurns) return messages
  const open = yield* openTurns(conv)
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
