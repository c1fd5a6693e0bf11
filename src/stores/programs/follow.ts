import type { Branch } from '../../core/branch.ts'
import type { Conversation } from '../../core/conversation.ts'
import { CorruptError } from '../../core/errors.ts'
import type { FollowChange } from '../../core/follow.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { ListedConversation } from '../../core/listing.ts'
import type { Message } from '../../core/message.ts'
import type { DraftPiece, Turn } from '../../core/turn.ts'
import { all, first, type Program } from '../engine/engine.ts'
import { branchFromRow, conversationFromRow, dataOfEvent, turnFromRow } from '../engine/row-to-value.ts'
import type { Conv, LooseMessageRow, TurnRow } from '../engine/rows.ts'
import { approvalsNamed } from './approvals.ts'
import { readLoose } from './content.ts'
import { aboveAll } from './cursor.ts'
import { listedOf } from './list.ts'
import { pieceOf } from './turns.ts'

/** What a follower knows of an open turn. */
export interface KnownTurn {
  readonly last: number
  readonly lastStep: number
  /** The number of the next piece of its draft. */
  readonly nextPiece: number
}

/** How far a follower is. */
export interface FollowPosition {
  /** The seq after the last delivered message. */
  readonly nextSeq: number
  /** Turns that begin here or later were not delivered. */
  readonly turnSeq: number
  /** Trace events with this number or a later one were not read. */
  readonly nextEvent: number
  /** The open turns that were delivered, by their first seq. */
  readonly turns: ReadonlyMap<number, KnownTurn>
}

/** The changes after a position, from one snapshot. */
export interface FollowSnapshot {
  readonly conversation: Conversation
  readonly nextSeq: number
  readonly messages: readonly Message[]
  /** The number of the next trace event. */
  readonly nextEvent: number
  /** Erased messages and approvals that trace events since the position name, as they are now, with the
   *  number of the event. */
  readonly notices: readonly { readonly change: FollowChange; readonly n: number }[]
  /** True if only messages were read, because there are more of them. */
  readonly isPartial: boolean
  /** Turns that begin at the position or later, and those that are open or were, in order. */
  readonly turns: readonly Turn[]
  /** True if more turns or pieces follow. */
  readonly hasMore: boolean
  /** New pieces of open turns, by the first seq of the turn. */
  readonly pieces: ReadonlyMap<number, readonly DraftPiece[]>
  readonly branches: readonly Branch[]
}

/** Most messages, turns, pieces and branches of a snapshot, and tokens after which it gets no message
 *  more. */
const most = { messages: 50, notices: 200, turns: 200, pieces: 1_000, branches: 1_000, tokens: 50_000 }

/** Reads what has changed since a position. Null if the conversation does not exist. */
export function* readChanges(
  id: ConversationId,
  position: FollowPosition,
  blobs: 'whole' | 'preview',
): Program<FollowSnapshot | null> {
  const row = yield* first('conversationById', { id })
  if (!row) return null
  const { conv, next_seq: nextSeq, next_event: nextEvent } = row
  const conversation = conversationFromRow(row)
  const rows = position.nextSeq < nextSeq ? yield* newMessages(id, position.nextSeq) : []
  const shown = withinBudget(rows)
  const messages = yield* readable(shown, blobs)
  if (shown.length < rows.length) {
    const nothing = { turns: [], pieces: new Map(), branches: [], notices: [], hasMore: true }
    const place = { nextSeq: shown.at(-1)!.seq + 1, nextEvent: position.nextEvent }
    return { conversation, ...place, messages, isPartial: true, ...nothing }
  }
  const events = position.nextEvent < nextEvent ? yield* noticesSince(id, conv, position, blobs) : noNotices
  const { turns, hasMore } = yield* changedTurns(conv, position, messages)
  const drafts = yield* newPieces(conv, position, turns)
  const start = { created_at: Number.MIN_SAFE_INTEGER, not_main: 0, name: '' }
  const branches = yield* all('listBranches', { conv, ...start, limit: most.branches })
  return {
    conversation,
    nextSeq,
    nextEvent,
    messages,
    notices: events.notices,
    isPartial: false,
    turns: turns.map(turn => turnFromRow(id, turn)),
    hasMore: hasMore || drafts.hasMore || events.hasMore,
    pieces: drafts.pieces,
    branches: branches.map(branch => branchFromRow(id, branch)),
  }
}

type NoticesSince = Pick<FollowSnapshot, 'notices' | 'hasMore'>

const noNotices: NoticesSince = { notices: [], hasMore: false }

const noticeTypes = ['message_erased', 'approval_requested', 'permission']

/** What events since the position say about messages that the follower has, and about approvals. */
function* noticesSince(
  id: ConversationId,
  conv: Conv,
  { nextEvent, nextSeq }: FollowPosition,
  blobs: 'whole' | 'preview',
): Program<NoticesSince> {
  const range = { after: nextEvent - 1, limit: most.notices + 1 }
  const events = yield* all('events', { conv, types: noticeTypes, ...range })
  const messages = new Map<string, number>()
  const approvals = new Map<string, number>()
  for (const event of events.slice(0, most.notices)) {
    const { n, type } = event
    const { message, approval } = dataOfEvent<{ message?: string; approval?: string }>(event)
    if (type === 'message_erased') messages.set(message!, n)
    else if (typeof approval === 'string') approvals.set(approval, n)
  }
  const rows = messages.size === 0 ? [] : yield* all('messagesByIds', { ids: [...messages.keys()] })
  const notices: { change: FollowChange; n: number }[] = (yield* readable(rows, blobs))
    .filter(({ seq, erased }) => erased && seq < nextSeq)
    .map(message => ({ change: { type: 'erased', message }, n: messages.get(message.id)! }))
  for (const approval of yield* approvalsNamed(id, conv, approvals))
    notices.push({ change: { type: 'approval', approval }, n: approvals.get(approval.id)! })
  return { notices: notices.sort((a, b) => a.n - b.n), hasMore: events.length > most.notices }
}

function* newMessages(id: ConversationId, from: number): Program<readonly LooseMessageRow[]> {
  const range = { above: from - 1, below: aboveAll, limit: most.messages + 1, offset: 0 }
  return yield* all('listMessages', { id, roles: null, label: null, ...range })
}

/** The first ones, but at least one. */
function withinBudget(rows: readonly LooseMessageRow[]): readonly LooseMessageRow[] {
  let tokens = 0
  const end = rows.findIndex((row, i) => i === most.messages || (i > 0 && tokens > most.tokens) || add(row))
  return end < 0 ? rows : rows.slice(0, end)

  function add(row: LooseMessageRow): false {
    tokens += row.tokens
    return false
  }
}

/** Leaves out damaged messages: a follower must not stop at them. */
function* readable(rows: readonly LooseMessageRow[], blobs: 'whole' | 'preview'): Program<Message[]> {
  const messages: Message[] = []
  for (const row of rows) {
    try {
      messages.push(...(yield* readLoose([row], blobs)))
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error
    }
  }
  return messages
}

function* changedTurns(
  conv: Conv,
  { turnSeq, turns }: FollowPosition,
  messages: readonly Message[],
): Program<{ turns: readonly TurnRow[]; hasMore: boolean }> {
  const range = { above: turnSeq - 1, below: aboveAll, status: null, limit: most.turns + 1 }
  const begun = yield* all('listTurns', { conv, ...range })
  // Beyond the last one of a page, an open turn must wait: turns are delivered in order.
  const end = begun.length > most.turns ? begun[most.turns]!.first : aboveAll
  const found = new Map(begun.filter(row => row.first < end).map(row => [row.first, row]))
  for (const row of yield* all('openTurns', { conv })) if (row.first < end) found.set(row.first, row)
  const firsts = new Set([...turns.keys(), ...messages.flatMap(({ turn }) => turn ?? [])])
  const others = [...firsts].filter(seq => seq < end && !found.has(seq))
  if (others.length > 0)
    for (const row of yield* all('turnsAt', { conv, firsts: others })) found.set(row.first, row)
  return { turns: [...found.values()].sort((a, b) => a.first - b.first), hasMore: end < aboveAll }
}

function* newPieces(
  conv: Conv,
  { turns: known }: FollowPosition,
  turns: readonly TurnRow[],
): Program<{ pieces: ReadonlyMap<number, readonly DraftPiece[]>; hasMore: boolean }> {
  const pieces = new Map<number, readonly DraftPiece[]>()
  let hasMore = false
  for (const { key, first: seq, last, last_step, status } of turns) {
    if (status !== 'open') continue
    const before = known.get(seq)
    const isSame = before?.last === last && before.lastStep === last_step
    const after = (isSame ? before.nextPiece : 0) - 1
    const rows = yield* all('draftsAfter', { conv, turn: key, after, limit: most.pieces + 1 })
    hasMore ||= rows.length > most.pieces
    if (rows.length > 0)
      pieces.set(
        seq,
        rows.slice(0, most.pieces).map(row => pieceOf(key, row)),
      )
  }
  return { pieces, hasMore }
}

/** A conversation as far as a poll compares it. */
export interface PolledConversation {
  readonly id: ConversationId
  readonly version: number
  readonly isStreaming: boolean
}

/** The versions of followed conversations, in one statement. */
export function* pollVersions(
  ids: readonly ConversationId[],
  now: number,
): Program<readonly PolledConversation[]> {
  const rows = yield* all('followStates', { ids, now })
  return rows.map(({ id, version, streaming }) => ({
    id: id as ConversationId,
    version,
    isStreaming: streaming === 1,
  }))
}

/** A conversation with activity, and a text that changes with it. Drafts are not activity. */
export interface PolledActivity {
  readonly id: ConversationId
  readonly time: number
  readonly mark: string
}

/** Most conversations that a poll compares. */
const mostRecent = 5_000

/** The conversations with activity since a time, newest first. */
export function* pollActivity(since: number): Program<readonly PolledActivity[]> {
  const rows = yield* all('recentActivity', { since, limit: mostRecent })
  return rows.map(({ id, updated_at, next_seq, title }) => ({
    id: id as ConversationId,
    time: updated_at,
    mark: `${updated_at} ${next_seq} ${title ?? ''}`,
  }))
}

/** The conversations with these ids that are not in the trash, by their last activity. */
export function* readListed(ids: readonly ConversationId[]): Program<readonly ListedConversation[]> {
  const rows = yield* all('listedByIds', { ids })
  return rows.map(listedOf).sort((a, b) => a.updatedAt.getTime() - b.updatedAt.getTime())
}

/** A page of the conversations with activity since a time, oldest activity first. */
export function* readListedFrom(
  after: { readonly time: number; readonly id: string },
  limit: number,
): Program<readonly ListedConversation[]> {
  return (yield* all('listedFrom', { after_time: after.time, after_id: after.id, limit })).map(listedOf)
}
