/** How long a recorder waits, and how much it queues while storage fails. */
export interface RecorderLimits {
  /** How long to collect pieces of an answer before they are stored together. Default: 100. */
  readonly draftEveryMs: number
  /** How long a turn may be without a write before its lease is renewed. Default: 10,000. */
  readonly renewEveryMs: number
  /** How long a write may take before the turn continues without it, and `onTrouble` reports unsaved
   *  messages. Default: 2,000. */
  readonly writeWithinMs: number
  /** How long the end of a turn waits for queued writes. Default: 5,000. */
  readonly endWithinMs: number
  /** Most queued writes. Default: 1,000. */
  readonly waitingWrites: number
  /** Most characters of all queued writes. Default: 67,108,864. */
  readonly waitingCharacters: number
}

/** The limits that apply where `BeginTurn.limits` names none. */
export const defaultLimits: RecorderLimits = {
  draftEveryMs: 100,
  renewEveryMs: 10_000,
  writeWithinMs: 2_000,
  endWithinMs: 5_000,
  waitingWrites: 1_000,
  waitingCharacters: 67_108_864,
}
