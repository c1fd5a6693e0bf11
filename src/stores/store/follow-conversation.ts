import { setTimeout as pause } from 'node:timers/promises'
import type { Branch } from '../../core/branch.ts'
import { NotFoundError, UnavailableError } from '../../core/errors.ts'
import type { FollowChange, FollowEvent, FollowOptions } from '../../core/follow.ts'
import type { ConversationId } from '../../core/ids.ts'
import type { Engine } from '../engine/engine.ts'
import { aboveAll } from '../programs/cursor.ts'
import { type FollowSnapshot, type KnownTurn, readChanges } from '../programs/follow.ts'
import {
  digestOfBranches,
  digestOfFields,
  type FollowState,
  textOfBranch,
  writeFollowCursor,
} from './follow-cursor.ts'
import type { ConversationWatch, FollowHub } from './follow-hub.ts'

/** Between two reads while the store is away. */
const awayMs = 1_000

/** Changes of a conversation after a state, or from now on. Everything is read when the consumer asks for it,
 *  so a slow consumer makes nothing wait in memory. */
export async function* followConversation(
  engine: Pick<Engine, 'read'>,
  hub: FollowHub,
  id: ConversationId,
  from: FollowState | null,
  { signal, blobs = 'whole' }: Pick<FollowOptions, 'signal' | 'blobs'>,
): AsyncGenerator<FollowEvent, void, void> {
  let state = from ?? startOfNow
  const isNew = from === null
  let isReplay = !isNew
  let branches: ReadonlyMap<string, Branch> | null = null
  const watch = hub.watch(id)
  try {
    for (let isFirst = true; !signal?.aborted; isFirst = false) {
      const snapshot = await readNext(watch, state, isFirst)
      if (snapshot === 'ended' || signal?.aborted) return
      if (snapshot === null) {
        if (isFirst && isNew) throw new NotFoundError('conversation', id)
        yield { type: 'gone', conversationId: id, cursor: writeFollowCursor(state), isReplay }
        return
      }
      watch.note(snapshot.conversation.version)
      isReplay ||= snapshot.hasMore
      const steps = stepsOf(snapshot, state, { branches, isNew: isFirst && isNew })
      for (const [i, { change, next }] of steps.entries()) {
        const isLast = i === steps.length - 1 && !snapshot.hasMore
        state = isLast ? { ...next, version: snapshot.conversation.version } : next
        if (signal?.aborted) return
        yield { ...change, cursor: writeFollowCursor(state), isReplay }
      }
      if (!snapshot.isPartial) branches = new Map(snapshot.branches.map(branch => [branch.name, branch]))
      if (snapshot.hasMore) continue
      isReplay = false
      state = {
        ...state,
        version: snapshot.conversation.version,
        nextSeq: snapshot.nextSeq,
        turnSeq: snapshot.nextSeq,
        nextEvent: snapshot.nextEvent,
      }
      if ((await watch.changed(state.version, signal)) === 'ended') return
    }
  } finally {
    watch.close()
  }

  /** The first read fails if the store is away; a later one waits until it is back. */
  async function readNext(
    from: ConversationWatch,
    position: FollowState,
    isFirst: boolean,
  ): Promise<FollowSnapshot | null | 'ended'> {
    const key = `${blobs} ${writeFollowCursor(position)}`
    for (;;) {
      try {
        return await from.share(key, () => engine.read(() => readChanges(id, position, blobs)))
      } catch (error) {
        if (isFirst) throw error
        if (hub.isClosed()) return 'ended'
        if (!(error instanceof UnavailableError)) throw error
      }
      await pause(awayMs, undefined, { ref: false })
      if (hub.isClosed() || signal?.aborted) return 'ended'
    }
  }
}

/** Before the first read: no message and no turn that has ended is new. */
const startOfNow: FollowState = {
  version: 0,
  nextSeq: aboveAll,
  turnSeq: aboveAll,
  nextEvent: aboveAll,
  turns: new Map(),
  branches: '',
  fields: '',
}

/** A change, and the state after it was delivered. */
interface FollowStep {
  readonly change: FollowChange
  readonly next: FollowState
}

/** The changes between a state and a snapshot: messages first, so that a turn that has ended is complete when
 *  its end is delivered, and a branch does not point to an unknown message. */
function stepsOf(
  snapshot: FollowSnapshot,
  from: FollowState,
  { branches, isNew }: { branches: ReadonlyMap<string, Branch> | null; isNew: boolean },
): readonly FollowStep[] {
  const steps: FollowStep[] = []
  let state: FollowState = { ...from, version: from.version }
  const { conversation } = snapshot
  if (isNew) {
    state = {
      ...state,
      nextSeq: snapshot.nextSeq,
      turnSeq: snapshot.nextSeq,
      nextEvent: snapshot.nextEvent,
      fields: digestOfFields(conversation),
    }
    tellBranches()
  }
  for (const message of snapshot.messages) {
    state = { ...state, nextSeq: message.seq + 1, turns: expecting(state, message.turn) }
    add({ type: 'message', message })
  }
  state = { ...state, nextSeq: Math.max(state.nextSeq, snapshot.nextSeq) }
  if (snapshot.isPartial) return steps
  for (const { change, n } of snapshot.notices) {
    state = { ...state, nextEvent: n + 1 }
    add(change)
  }
  tellTurns()
  if (!isNew) {
    if (state.branches !== digestOfBranches(snapshot.branches)) {
      if (branches === null || state.branches !== digestOfBranches(branches.values())) tellBranches()
      else tellChangedBranches(branches)
    }
    const fields = digestOfFields(conversation)
    if (state.fields !== fields) {
      state = { ...state, fields }
      add({ type: 'conversation', conversation })
    }
  }
  return steps

  function add(change: FollowChange): void {
    steps.push({ change, next: state })
  }

  function tellTurns(): void {
    for (const turn of snapshot.turns) {
      const known = state.turns.get(turn.first)
      const isOpen = turn.status === 'open'
      // It had ended before, and was told.
      if (!known && !isOpen && turn.first < state.turnSeq) continue
      const isSame = isOpen && known?.last === turn.last && known.lastStep === turn.lastStep
      if (!isSame) {
        const fresh = { last: turn.last, lastStep: turn.lastStep, nextPiece: 0 }
        const turns = withTurn(state.turns, turn.first, isOpen ? fresh : null)
        state = { ...state, turns, turnSeq: Math.max(state.turnSeq, turn.first + 1) }
        add({ type: 'turn', turn })
      }
      const pieces = snapshot.pieces.get(turn.first)
      if (!pieces) continue
      const nextPiece = pieces.at(-1)!.n + 1
      const now = { last: turn.last, lastStep: turn.lastStep, nextPiece }
      state = { ...state, turns: withTurn(state.turns, turn.first, now) }
      add({ type: 'draft', turn, pieces })
    }
    if (!snapshot.hasMore) state = { ...state, turnSeq: Math.max(state.turnSeq, snapshot.nextSeq) }
  }

  function tellBranches(): void {
    state = { ...state, branches: digestOfBranches(snapshot.branches) }
    add({ type: 'branches', branches: snapshot.branches })
  }

  function tellChangedBranches(before: ReadonlyMap<string, Branch>): void {
    const told = new Map(before)
    const now = new Set(snapshot.branches.map(({ name }) => name))
    for (const name of before.keys()) {
      if (now.has(name)) continue
      told.delete(name)
      state = { ...state, branches: digestOfBranches(told.values()) }
      add({ type: 'branch_deleted', name })
    }
    for (const branch of snapshot.branches) {
      const known = before.get(branch.name)
      if (known && textOfBranch(known) === textOfBranch(branch)) continue
      told.set(branch.name, branch)
      state = { ...state, branches: digestOfBranches(told.values()) }
      add({ type: 'branch', branch })
    }
  }
}

/** A message of an earlier turn that is not known as open: the turn was reopened, and has to be told. */
function expecting({ turns, turnSeq }: FollowState, first: number | null): FollowState['turns'] {
  if (first === null || first >= turnSeq || turns.has(first)) return turns
  return withTurn(turns, first, { last: -1, lastStep: -1, nextPiece: 0 })
}

function withTurn(
  turns: FollowState['turns'],
  first: number,
  known: KnownTurn | null,
): ReadonlyMap<number, KnownTurn> {
  const changed = new Map(turns)
  if (known === null) changed.delete(first)
  else changed.set(first, known)
  return changed
}
