/**
 * The recorder saves a turn while it runs, for agent loops other than ours. `beginTurn` returns a
 * `TurnRecording`; its methods are the steps of the turn. If storage fails, the turn continues, and its
 * writes are retried in order.
 */

// The way of a write, from the caller to the store:
//
// 1. `begin-turn.ts` checks the input, waits for a busy branch, and chooses the mode: `record-live.ts` stores
//    each step as it ends, `record-at-once.ts` the whole turn at its end.
// 2. The mode pushes a write into `write-queue.ts`: a closure that may run again. The queue runs one write
//    after the other. If storage fails, it retries them in order, and the turn continues meanwhile.
// 3. The closure calls `turn-writes.ts`, which knows the position of the turn (key, step, branch, head) and
//    what to do if another process has taken the turn or moved the branch. The first write goes through
//    `open-turn.ts`: it takes over abandoned turns (`take-over.ts`), forks, or reopens an interrupted turn.
// 4. `turn-writes.ts` calls the store: `append`, `putDraft`, `renewTurn`, `endTurn`.
//
// `turn-report.ts` reports the end. Writes that are still queued then stay in `waiting-turns.ts`: the next
// turn on the branch follows them. `outages.ts` reports failing storage.
//
// May import core and system only.

export type { ToolResultPolicy } from '../core/conversation.ts'
export type { Holder } from '../core/errors.ts'
export type { EventType, ListEvents, NewEvent, TraceEvent } from '../core/event.ts'
export type { DraftPiece, EndedTurn, TurnEnd, TurnStep } from '../core/turn.ts'
export type { TurnWriter } from '../core/turn-writer.ts'
export { thisHolder } from '../system/holder.ts'
export { type RecorderSource, systemRecorderSource } from '../system/source.ts'
export { beginTurn } from './begin-turn.ts'
export { defaultLimits, type RecorderLimits } from './limits.ts'
export type {
  BeginTurn,
  BranchWait,
  PathPosition,
  RecordedStep,
  RecordStore,
  Trouble,
  TurnRecording,
  TurnReport,
} from './recording.ts'
export { type TakeOverSource, takeOver } from './take-over.ts'
export { allSaved, type Unsaved, type UnsavedBranch, unsavedIn } from './waiting-turns.ts'
