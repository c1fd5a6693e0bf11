/** `skein/maintenance`: the ports and results of checking, measuring, deleting and moving what is stored,
 *  and of the reads and tokens of a service. Every `Store` implements these ports. */

export type { AccessToken, NewAccessToken, TokenKeeper, TokenScope } from './access-token.ts'
export {
  type ConditionalWriter,
  type ConditionalWrites,
  PreconditionFailedError,
} from './conditional-writer.ts'
export { copyAsNewConversation, type PathCopier } from './copy-as-new.ts'
export type { Finding, Severity, Verified, Verifier, VerifyOptions, VerifyProgress } from './finding.ts'
export { countDependents } from './finding.ts'
export type {
  ActivityEvent,
  FollowActivityOptions,
  FollowChange,
  FollowEvent,
  Follower,
  FollowMark,
  FollowOptions,
  TaskEvent,
} from './follow.ts'
export type { IndexOptions, IndexProgress, SkippedRow } from './listing.ts'
export type { Maintainer } from './maintainer.ts'
export type { ConversationSize, Measured, Meter, UsageSum } from './measure.ts'
export type { Erasure } from './message.ts'
export type { ConversationOverview, OverviewReader } from './overview.ts'
export type {
  PathSection,
  PathSectionOptions,
  PathSectionReader,
  SiblingMessages,
  ToolTime,
} from './path-section.ts'
export type { Deleter } from './ports.ts'
export type { RecordMover } from './record.ts'
export type {
  CompactReceipt,
  DeletedMessages,
  ErasedMessages,
  MovedBranch,
  PurgedConversation,
  Remnant,
  Restored,
  SweepOptions,
  SweepReceipt,
} from './removal.ts'
export type { SeqRange } from './runs.ts'
