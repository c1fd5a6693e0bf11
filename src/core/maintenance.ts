/** `skein/maintenance`: the ports and results of checking, measuring, deleting and moving what is stored.
 *  Every `Store` implements these ports. */

export type { Finding, Severity, Verified, VerifyOptions, VerifyProgress } from './finding.ts'
export { countDependents } from './finding.ts'
export type { Measured, UsageSum } from './measure.ts'
export type {
  DeletedMessages,
  Deleter,
  Maintainer,
  Meter,
  MovedBranch,
  RecordMover,
  Restored,
  SweepReceipt,
  Verifier,
} from './ports.ts'
export type { SeqRange } from './runs.ts'
