import type { BranchRef } from '../core/branch.ts'
import { BusyError, ConflictError } from '../core/errors.ts'
import { sha256Hex } from '../core/hash.ts'
import type { MessageId } from '../core/ids.ts'
import type { NewMessage, NonEmpty } from '../core/message.ts'
import { collectPages } from '../core/pages.ts'
import type { Appended } from '../core/ports.ts'
import type { Turn, TurnStatus, TurnStep } from '../core/turn.ts'
import { isSame } from '../system/holder.ts'
import type { RecorderSource } from '../system/source.ts'
import type { BeginTurn, RecordStore } from './recording.ts'
import { takeOver } from './take-over.ts'
import type { WaitingTurn } from './waiting-turns.ts'

/** What it takes to begin a turn. */
export interface Opening {
  readonly store: RecordStore
  readonly ref: BranchRef
  readonly options: BeginTurn
  readonly key: string
  readonly source: RecorderSource
  /** An earlier turn on this branch whose writes still wait: this one is stored after it. */
  readonly after?: WaitingTurn
}

/** Where a turn stands. */
export interface Standing {
  readonly key: string
  /** The number of its next write. */
  readonly step: number
  /** Whether it is in the store, open and ours. */
  readonly begun: boolean
  readonly branch: BranchRef
  readonly head: MessageId | null
  /** Whether it went beside the branch that was named. */
  readonly forked: boolean
  readonly replayed: Exclude<TurnStatus, 'open'> | null
  /** Whether it is an earlier turn that was taken up again. */
  readonly reopened: boolean
}

/** What to do where the branch is held or has moved. */
export type Manners = Pick<BeginTurn, 'onBusy' | 'onMoved'>

const fresh = { forked: false, replayed: null, reopened: false }

/** Others may keep moving a branch; nobody loses this often by chance. */
const mostTries = 50

/** Stores the words that begin a turn, which is open and ours from then on. A branch whose turn nobody goes
 *  on with is taken over. Throws BusyError, ConflictError or KeyReusedError as the manners ask for. `again`
 *  says that an attempt was made before: then the turn may be there, and be its. */
export async function openTurn(
  opening: Opening,
  words: NonEmpty<NewMessage>,
  manners: Manners,
  again: boolean,
): Promise<Standing> {
  const { store, ref, options } = opening
  for (let tries = 0; ; tries++) {
    const head = options.expectedHead === undefined ? await headNow(opening) : options.expectedHead
    try {
      return await write(head, 'refuse')
    } catch (error) {
      if (error instanceof BusyError) {
        const ended = await takeOver(store, ref.conversationId, ref.name, opening.source)
        // Asked a second time even so: somebody else may just have ended it.
        if (ended.length > 0 || tries === 0) continue
        if (manners.onBusy === 'fork') return write(await besideOpenTurn(opening, head), 'sibling')
      } else if (error instanceof ConflictError) {
        if (options.expectedHead === undefined && tries < mostTries) continue
        if (manners.onMoved === 'fork') return write(head, 'sibling')
      }
      throw error
    }
  }

  async function write(head: MessageId | null, onConflict: 'refuse' | 'sibling'): Promise<Standing> {
    const turn = firstStep(opening, 'open')
    const appended = await store.append(ref, head, words, { turn, onConflict })
    return appended.outcome === 'replayed'
      ? goOn(opening, appended, again)
      : standingAfter(turn, appended, fresh)
  }
}

/** Where a turn will begin whose first words are not stored yet. Throws as `openTurn` does. */
export async function findPlace(opening: Opening, manners: Manners): Promise<Standing> {
  const { store, ref, options, key } = opening
  const found = await store.getBranch(ref)
  const given = options.expectedHead
  const place = { key, step: 0, begun: false, branch: ref, ...fresh }
  const open = await openTurnOn(opening)
  if (open) {
    const ended = await takeOver(store, ref.conversationId, ref.name, opening.source)
    if (ended.length > 0) return findPlace(opening, manners)
    if (manners.onBusy !== 'fork')
      throw new BusyError(`branch ${JSON.stringify(ref.name)}`, open.holder, open.leaseUntil)
    return { ...place, head: given === undefined ? await besideOpenTurn(opening, found.head) : given }
  }
  if (given !== undefined && given !== found.head && manners.onMoved !== 'fork')
    throw new ConflictError(ref.name, given, found.head)
  const head = given === undefined ? found.head : given
  return { ...place, ...(await earlier(opening)), head }
}

/** Whether a turn of this key came to its end before. What goes on without words of its own needs another
 *  key. */
async function earlier({ store, ref, options, key, source }: Opening): Promise<Partial<Standing>> {
  if (options.key === undefined) return {}
  const turn = await store.findTurn(ref.conversationId, key)
  if (!turn || turn.status === 'open') return {}
  return { replayed: turn.status, ...(options.words.length === 0 && { key: source.uuid() }) }
}

/** The part of a turn that its first write carries. */
export function firstStep(opening: Opening, status: TurnStatus, key = opening.key): TurnStep {
  const { model, prompt } = opening.options
  return {
    key,
    step: 0,
    status,
    holder: opening.source.holder(),
    ...(model !== undefined && { model }),
    ...(prompt !== undefined && { promptHash: sha256Hex(prompt) }),
  }
}

/** Where a turn stands after a write of it. */
export function standingAfter(
  turn: TurnStep,
  appended: Appended,
  before: Pick<Standing, 'forked' | 'replayed' | 'reopened'>,
): Standing {
  return {
    key: turn.key,
    step: turn.step + 1,
    begun: turn.status === 'open',
    branch: appended.branch,
    head: appended.head,
    forked: before.forked || appended.outcome === 'sibling',
    replayed: before.replayed,
    reopened: before.reopened,
  }
}

/** These words were stored before under this key: by an attempt of our own whose outcome was unknown, or in
 *  an earlier life. They are not said twice. */
async function goOn(opening: Opening, appended: Appended, again: boolean): Promise<Standing> {
  const { store, key, source } = opening
  const { conversationId } = appended.branch
  const turn = (await store.findTurn(conversationId, key))!
  // Otherwise somebody else in this process is at it.
  if (turn.status === 'open' && again && isSame(turn.holder, source.holder()))
    return { ...(await standingIn(opening, turn)), reopened: false }
  const ended =
    turn.status === 'open' ? await takeOver(store, conversationId, turn.branch, source) : [{ turn }]
  const replayed = ended.find(({ turn }) => turn.key === key)?.turn.status
  if (replayed === undefined || replayed === 'open')
    throw new BusyError(`turn ${JSON.stringify(key)}`, turn.holder, turn.leaseUntil)
  const taken = replayed === 'complete' ? null : await reopenThis(opening, turn)
  if (taken) return { ...taken, replayed }
  const branch = { conversationId, name: turn.branch }
  const { head } = await store.getBranch(branch)
  const forked = turn.branch !== opening.ref.name
  return { key: source.uuid(), step: 0, begun: false, branch, head, forked, replayed, reopened: false }
}

/** Takes up this turn, if the branch still ends with it. */
async function reopenThis(opening: Opening, before: Turn): Promise<Standing | null> {
  const { store, source } = opening
  const { conversationId } = before
  const branch = { conversationId, name: before.branch }
  const { head } = await store.getBranch(branch)
  const [last] = head === null ? [] : await store.getMessages([head], { blobs: 'preview' })
  if (last?.seq !== before.last) return null
  const turn = await store.reopenTurn(branch, source.holder())
  if (!turn || turn.key === before.key) return turn && standingIn(opening, turn)
  // Somebody has said something in between, and did not come to an end with it: that is not ours.
  await store.endTurn(conversationId, turn.key, { status: 'interrupted', heldBy: source.holder() })
  return null
}

/** Where a turn stands that is open and ours, whatever it has brought so far. */
export async function standingIn({ store, ref }: Opening, turn: Turn): Promise<Standing> {
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

async function headNow({ store, ref }: Opening): Promise<MessageId | null> {
  return (await store.getBranch(ref)).head
}

export async function openTurnOn({ store, ref }: Opening): Promise<Turn | undefined> {
  const open = await collectPages(page => store.listTurns(ref.conversationId, { status: 'open', ...page }))
  return open.find(turn => turn.branch === ref.name)
}

/** Where to go on beside a turn that is still open: before it, as it is not whole. */
async function besideOpenTurn(
  { store, options }: Opening,
  head: MessageId | null,
): Promise<MessageId | null> {
  if (options.expectedHead !== undefined || head === null) return head
  const { messages } = await store.tail(head, { messages: 1 }, { wholeTurns: true, blobs: 'preview' })
  return messages.at(-1)?.id ?? null
}
