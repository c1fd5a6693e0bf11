import type { BranchRef } from '../core/branch.ts'
import { BusyError, ConflictError } from '../core/errors.ts'
import { sha256Hex } from '../core/hash.ts'
import type { MessageId } from '../core/ids.ts'
import type { NewMessage } from '../core/message.ts'
import { itemsOf } from '../core/pages.ts'
import type { Appended, AppendOptions } from '../core/ports.ts'
import type { Turn, TurnStatus, TurnStep } from '../core/turn.ts'
import { isSame } from '../system/holder.ts'
import type { RecorderSource } from '../system/source.ts'
import type { BeginTurn, RecordStore } from './recording.ts'
import { takeOver } from './take-over.ts'
import type { WaitingTurn } from './waiting-turns.ts'

/** A request to begin a turn. */
export interface TurnRequest {
  readonly store: RecordStore
  readonly ref: BranchRef
  readonly options: BeginTurn
  readonly key: string
  readonly source: RecorderSource
  /** An earlier turn on this branch whose writes are still queued: this one is stored after it. */
  readonly after?: WaitingTurn
}

/** The state of a turn after its last write. */
export interface TurnPosition {
  readonly key: string
  /** The number of its next write. */
  readonly step: number
  /** Whether it is stored, open and held by this process. */
  readonly begun: boolean
  readonly branch: BranchRef
  readonly head: MessageId | null
  /** Whether it is on another branch than the given one. */
  readonly forked: boolean
  readonly replayed: Exclude<TurnStatus, 'open'> | null
  /** Whether it is an earlier turn that was reopened. */
  readonly reopened: boolean
  /** The head before its first messages, if they have just been stored. */
  readonly openedAfter?: MessageId | null
}

/** What to do if the branch is held or has moved. */
export type ConflictPolicy = Pick<BeginTurn, 'onBusy' | 'onMoved'>

const fresh = { forked: false, replayed: null, reopened: false }

/** Most attempts on a branch that other writers keep moving. */
const mostTries = 50

/** Stores the messages that open a turn, which is open and held by this process after that. An abandoned turn
 *  on the branch is taken over. Throws BusyError, ConflictError or KeyReusedError according to the policy.
 *  `again`: this is a retry, so the turn may already be stored. */
export async function openTurn(
  request: TurnRequest,
  words: readonly NewMessage[],
  policy: ConflictPolicy,
  again: boolean,
): Promise<TurnPosition> {
  const { store, ref, options } = request
  const { expectedHead, likelyHead } = options
  // The attempt with the likely head precedes the counted ones.
  for (let tries = expectedHead === undefined && likelyHead !== undefined ? -1 : 0; ; tries++) {
    const head =
      tries < 0 ? likelyHead! : expectedHead === undefined ? await currentHead(request) : expectedHead
    try {
      return await write(head, 'refuse')
    } catch (error) {
      if (error instanceof BusyError) {
        const ended = await takeOver(store, ref.conversationId, ref.name, request.source)
        // Try a second time: another process may just have ended it.
        if (ended.length > 0 || tries <= 0) continue
        if (policy.onBusy === 'fork') return write(await headBeforeOpenTurn(request, head), 'fork')
      } else if (error instanceof ConflictError) {
        if (expectedHead === undefined && tries < mostTries) continue
        if (policy.onMoved === 'fork') return write(head, 'fork')
      }
      throw error
    }
  }

  async function write(head: MessageId | null, onConflict: 'refuse' | 'fork'): Promise<TurnPosition> {
    const turn = firstStep(request, 'open')
    const move = onConflict === 'fork' || ref.name !== options.moveKey?.from ? keyMove(request) : {}
    const appended = await store.append(ref, head, words, { turn, onConflict, ...move })
    return appended.outcome === 'replayed'
      ? continueReplayed(request, appended, again)
      : { ...positionAfter(turn, appended, fresh), openedAfter: head }
  }
}

/** The position of a turn whose first messages are not stored yet. Throws like `openTurn`. */
export async function findTurnPosition(request: TurnRequest, policy: ConflictPolicy): Promise<TurnPosition> {
  const { store, ref, options, key } = request
  const found = await store.getBranch(ref)
  const given = options.expectedHead
  const place = { key, step: 0, begun: false, branch: ref, ...fresh }
  const open = await openTurnOfBranch(request)
  if (open) {
    const ended = await takeOver(store, ref.conversationId, ref.name, request.source)
    if (ended.length > 0) return findTurnPosition(request, policy)
    if (policy.onBusy !== 'fork')
      throw new BusyError(`branch ${JSON.stringify(ref.name)}`, open.holder, open.leaseUntil)
    return { ...place, head: given === undefined ? await headBeforeOpenTurn(request, found.head) : given }
  }
  if (given !== undefined && given !== found.head && policy.onMoved !== 'fork')
    throw new ConflictError(ref.name, given, found.head)
  const head = given === undefined ? found.head : given
  return { ...place, ...(await earlierTurn(request)), head }
}

/** An ended turn with the same key. A turn without messages of its own needs another key. */
async function earlierTurn({
  store,
  ref,
  options,
  key,
  source,
}: TurnRequest): Promise<Partial<TurnPosition>> {
  if (options.key === undefined) return {}
  const turn = await store.findTurn(ref.conversationId, key)
  if (!turn || turn.status === 'open') return {}
  return { replayed: turn.status, ...(options.words.length === 0 && { key: source.uuid() }) }
}

/** The turn of the first write. */
export function firstStep(request: TurnRequest, status: TurnStatus, key = request.key): TurnStep {
  const { model, prompt } = request.options
  return {
    key,
    step: 0,
    status,
    holder: request.source.holder(),
    ...(model !== undefined && { model }),
    ...(prompt !== undefined && { promptHash: sha256Hex(prompt) }),
  }
}

/** The key that moves with the first write, as an option of `append`. */
export function keyMove({ options: { moveKey } }: TurnRequest): Pick<AppendOptions, 'moveKey'> {
  return moveKey === undefined ? {} : { moveKey: moveKey.key }
}

/** The position after a write. */
export function positionAfter(
  turn: TurnStep,
  appended: Appended,
  before: Pick<TurnPosition, 'forked' | 'replayed' | 'reopened'>,
): TurnPosition {
  return {
    key: turn.key,
    step: turn.step + 1,
    begun: turn.status === 'open',
    branch: appended.branch,
    head: appended.head,
    forked: before.forked || appended.outcome === 'forked',
    replayed: before.replayed,
    reopened: before.reopened,
  }
}

/** The messages are already stored with this key: by an attempt of this process whose outcome was unknown, or
 *  by an earlier process. They are not stored again. */
async function continueReplayed(
  request: TurnRequest,
  appended: Appended,
  again: boolean,
): Promise<TurnPosition> {
  const { store, key, source } = request
  const { conversationId } = appended.branch
  const turn = (await store.findTurn(conversationId, key))!
  // Otherwise another recording in this process holds it.
  if (turn.status === 'open' && again && isSame(turn.holder, source.holder()))
    return { ...(await positionIn(request, turn)), reopened: false }
  const ended =
    turn.status === 'open' ? await takeOver(store, conversationId, turn.branch, source) : [{ turn }]
  // As it ended: a draft has become its last message.
  const before = ended.find(({ turn }) => turn.key === key)?.turn
  if (before === undefined || before.status === 'open')
    throw new BusyError(`turn ${JSON.stringify(key)}`, turn.holder, turn.leaseUntil)
  const replayed = before.status
  const taken = replayed === 'complete' ? null : await reopenIfLast(request, before)
  if (taken) return { ...taken, replayed }
  const branch = { conversationId, name: turn.branch }
  const { head } = await store.getBranch(branch)
  const forked = turn.branch !== request.ref.name
  return { key: source.uuid(), step: 0, begun: false, branch, head, forked, replayed, reopened: false }
}

/** Reopens this turn, if the branch still ends with it. */
async function reopenIfLast(request: TurnRequest, before: Turn): Promise<TurnPosition | null> {
  const { store, source } = request
  const { conversationId } = before
  const branch = { conversationId, name: before.branch }
  const { head } = await store.getBranch(branch)
  const [last] = head === null ? [] : await store.getMessages([head], { blobs: 'preview' })
  if (last?.seq !== before.last) return null
  const turn = await store.reopenTurn(branch, source.holder())
  if (!turn || turn.key === before.key) return turn && positionIn(request, turn)
  // Another, interrupted turn is in between. It is not the requested one.
  await store.endTurn(conversationId, turn.key, { status: 'interrupted', heldBy: source.holder() })
  return null
}

/** The position of a stored turn that is open and held by this process. */
async function positionIn({ store, ref }: TurnRequest, turn: Turn): Promise<TurnPosition> {
  const branch = { conversationId: turn.conversationId, name: turn.branch }
  const { head } = await store.getBranch(branch)
  const forked = branch.name !== ref.name
  return {
    key: turn.key,
    step: turn.lastStep + 1,
    begun: true,
    branch,
    head,
    forked,
    replayed: null,
    reopened: true,
  }
}

async function currentHead({ store, ref }: TurnRequest): Promise<MessageId | null> {
  return (await store.getBranch(ref)).head
}

async function openTurnOfBranch({ store, ref }: TurnRequest): Promise<Turn | undefined> {
  const open = itemsOf(page => store.listTurns(ref.conversationId, { status: 'open', ...page }))
  for await (const turn of open) if (turn.branch === ref.name) return turn
  return undefined
}

/** The head to fork at if a turn is open: the message before that turn, because it is incomplete. */
async function headBeforeOpenTurn(
  { store, options }: TurnRequest,
  head: MessageId | null,
): Promise<MessageId | null> {
  if (options.expectedHead !== undefined || head === null) return head
  const { messages } = await store.tail(head, { messages: 1 }, { wholeTurns: true, blobs: 'preview' })
  return messages.at(-1)?.id ?? null
}

/** Reopens the turn at the end of the branch, if it was interrupted or failed, so that the branch is held
 *  before any tool runs again. If there is no such turn, a new one begins with the first step. `again`: this
 *  is a retry, and the outcome of the first attempt is unknown. */
export async function reopenBranchTurn(
  request: TurnRequest,
  policy: ConflictPolicy,
  again: boolean,
): Promise<TurnPosition> {
  const { store, ref, options, source } = request
  const { expectedHead } = options
  if (expectedHead !== undefined && (await currentHead(request)) !== expectedHead)
    return findTurnPosition(request, policy)
  for (let tries = 0; ; tries++) {
    try {
      const turn = await store.reopenTurn(ref, source.holder())
      const reopened = turn && (await positionIn(request, turn))
      if (reopened && (expectedHead === undefined || reopened.head === expectedHead)) return reopened
      // The branch moved meanwhile, and this is another turn.
      if (turn)
        await store.endTurn(ref.conversationId, turn.key, { status: 'interrupted', heldBy: source.holder() })
      return await findTurnPosition(request, policy)
    } catch (error) {
      if (!(error instanceof BusyError)) throw error
    }
    const open = await openTurnOfBranch(request)
    if (again && open && isSame(open.holder, source.holder())) return positionIn(request, open)
    const ended = await takeOver(store, ref.conversationId, ref.name, source)
    // Try a second time: another process may just have ended it.
    if (ended.length === 0 && tries > 0) return findTurnPosition(request, policy)
  }
}
