import type { BranchRef } from '../../core/branch.ts'
import { siblingNames } from '../../core/branch-name.ts'
import { ConflictError, NotFoundError, type SkeinError } from '../../core/errors.ts'
import type { MessageId } from '../../core/ids.ts'
import type { NonEmpty } from '../../core/message.ts'
import { type PreparedMessage, titleOfMessages } from '../../core/prepare.ts'
import { fold } from '../../core/search/fold.ts'
import type { TurnStep } from '../../core/turn.ts'
import { first, type Program, run } from '../engine/engine.ts'
import type { AppendRow, PositionRow, TurnRow } from '../engine/rows.ts'
import { beforeRoots, growthOf, headFields, headPosition, insertMessage } from './insert-message.ts'
import { takeKeyFromSibling } from './keys.ts'
import { needConversation, needMessageIn } from './lookup.ts'
import { charged, checkOngoing, heldBy, replayStep, type Written, writeTurn } from './steps.ts'

/** An append whose messages have been checked. */
export interface AppendRequest {
  readonly ref: BranchRef
  readonly expectedHead: MessageId | null
  readonly messages: NonEmpty<PreparedMessage>
  readonly turn: TurnStep | undefined
  readonly onConflict: 'refuse' | 'fork'
  /** The key that the written branch takes; null for the active branch's. */
  readonly moveKey?: string | null
  readonly now: number
  readonly leaseMs: number
}

/** Appends and moves the head. The order of the checks is part of the contract: a retry of a stored step
 *  returns its result before the holder and the head of the branch are checked. */
export function* append(request: AppendRequest): Program<Written> {
  const { ref, turn } = request
  const state = yield* lockForAppend(ref, turn)
  const ongoing =
    turn && state.turn_known === 1 ? yield* first('turn', { conv: state.conv, key: turn.key }) : undefined
  if (turn && ongoing) {
    const replayed = yield* replayStep(ref.conversationId, state.conv, ongoing, turn, request.messages)
    if (replayed) return replayed
    checkOngoing(ongoing, turn, ref.name)
  }
  const refusal = (yield* heldByAnother(state, turn)) ?? headMoved(state, request)
  if (refusal && (request.onConflict === 'refuse' || ongoing)) throw refusal
  const grown = refusal
    ? yield* growSibling(request, state)
    : yield* grow(request, state, ongoing, ref.name, headPosition(state))
  if (request.moveKey !== undefined)
    yield* takeKeyFromSibling(ref.conversationId, request.moveKey, grown.branch.name)
  return grown
}

function* lockForAppend(ref: BranchRef, turn: TurnStep | undefined): Program<AppendRow> {
  const state = yield* first('lockBranch', {
    id: ref.conversationId,
    name: ref.name,
    turn: turn?.key ?? null,
  })
  if (!state) {
    yield* needConversation(ref.conversationId)
    throw new NotFoundError('branch', ref.name)
  }
  if (state.trashed_at !== null)
    throw new NotFoundError('conversation', ref.conversationId, { trashed: true })
  return state
}

function* heldByAnother(state: AppendRow, turn: TurnStep | undefined): Program<SkeinError | undefined> {
  if (state.held === 0) return undefined
  const open = yield* first('openTurnOn', { conv: state.conv, name: state.name })
  if (!open || open.key === turn?.key) return undefined
  return heldBy(open)
}

function headMoved(state: AppendRow, request: AppendRequest): SkeinError | undefined {
  if (state.head_id === request.expectedHead) return undefined
  return new ConflictError(state.name, request.expectedHead, state.head_id as MessageId | null)
}

/** Appends to a new branch, which starts at the head that the caller expected. */
function* growSibling(request: AppendRequest, state: AppendRow): Program<Written> {
  const { ref, expectedHead, now } = request
  const parent = expectedHead === null ? beforeRoots : yield* needMessageIn(ref.conversationId, expectedHead)
  const name = yield* freeSibling(state)
  yield* run('insertBranch', { conv: state.conv, name, ...headFields(parent), key: null, title: null, now })
  const grown = yield* grow(request, state, undefined, name, parent)
  return { ...grown, outcome: 'forked' }
}

function* freeSibling(state: AppendRow): Program<string> {
  for (const name of siblingNames(state.name)) {
    if (!(yield* first('branch', { conv: state.conv, name }))) return name
  }
  throw new Error('unreachable: the names do not end')
}

function* grow(
  request: AppendRequest,
  state: AppendRow,
  ongoing: TurnRow | undefined,
  branch: string,
  parent: PositionRow,
): Program<Written> {
  const { ref, messages, turn, now, leaseMs } = request
  const { conv } = state
  const start = state.next_seq
  const turnSeq = turn ? (ongoing?.first ?? start) : null
  const ids: MessageId[] = []
  let head = parent
  const title = state.titled === 0 ? titleOfMessages(messages) : null
  for (const message of messages) {
    const seq = start + ids.length
    const slot = {
      conv,
      conversationId: ref.conversationId,
      seq,
      turn: turnSeq,
      step: turn?.step ?? null,
      now,
    }
    const placed = yield* insertMessage(message, head, slot)
    ids.push(placed.id)
    head = placed
  }
  yield* run('setHead', { conv, name: branch, ...headFields(head), now })
  if (turn) yield* writeTurn(conv, ongoing, turn, { branch, first: start, last: head.seq, now, leaseMs })
  yield* run(growthOf(state), {
    conv,
    next_seq: start + ids.length,
    added: ids.length,
    tokens: head.path_tokens - parent.path_tokens,
    ...charged(turn?.usage),
    title,
    title_folded: title === null ? null : fold(title),
    now,
  })
  return {
    branch: { conversationId: ref.conversationId, name: branch },
    head: ids.at(-1)!,
    ids: ids as unknown as NonEmpty<MessageId>,
    outcome: 'appended',
  }
}
