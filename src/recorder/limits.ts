/** How long a recorder waits, and how much it keeps while the storage fails. */
export interface RecorderLimits {
  /** How long the pieces of an answer are gathered before they are stored together. */
  readonly draftEveryMs: number
  /** How long a turn may go without a write before its lease is renewed. */
  readonly renewEveryMs: number
  /** How long a write may take before the turn goes on without it. After this the person is told that their
   *  words are not stored. */
  readonly writeWithinMs: number
  /** How long the end of a turn tries to store what waits. */
  readonly endWithinMs: number
  /** Writes that may wait. */
  readonly waitingWrites: number
  /** Characters of all the writes that wait. */
  readonly waitingCharacters: number
}

export const defaultLimits: RecorderLimits = {
  draftEveryMs: 100,
  renewEveryMs: 10_000,
  writeWithinMs: 2_000,
  endWithinMs: 5_000,
  waitingWrites: 1_000,
  waitingCharacters: 67_108_864,
}
