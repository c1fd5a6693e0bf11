import type { BranchRef } from './branch.ts'
import type { ConversationId, MessageId } from './ids.ts'

/** A place that may still contain content after its removal. No reader of the store returns it from there.
 *
 *  - `file`: unused space of an SQLite file. `compact` clears it.
 *  - `log`: the write-ahead log. On SQLite, because another process was using it; `compact` clears it. On
 *    PostgreSQL, until the server reuses the space.
 *  - `dead_rows`: old versions of rows and planner statistics of PostgreSQL, until the next VACUUM and
 *    ANALYZE. `compact` removes them.
 *  - `backups`: backups, exports and other copies that were made earlier. */
export type Remnant = 'file' | 'log' | 'dead_rows' | 'backups'

/** A branch whose head was deleted. */
export interface MovedBranch {
  /** The branch that moved. */
  readonly branch: BranchRef
  /** The deleted head. */
  readonly from: MessageId
  /** The nearest remaining ancestor of the old head. Null if there is none. */
  readonly to: MessageId | null
}

/** The effects of `deleteMessages`. */
export interface DeletedMessages {
  /** The number of deleted messages. Missing ids are not counted. */
  readonly deleted: number
  /** The branches that pointed to a deleted message. */
  readonly moved: readonly MovedBranch[]
  /** The number of summaries removed because their range lost a message. */
  readonly summaries: number
  /** The number of automatic titles cleared because they repeated a deleted message. */
  readonly titles: number
  /** The branches that were renamed because their name repeated a deleted message, by their new names. */
  readonly branches: readonly BranchRef[]
  /** The number of trace events emptied because they quoted a deleted message. */
  readonly events: number
  /** Where the content may still be. Empty if nothing was deleted. */
  readonly remains: readonly Remnant[]
}

/** The effects of `eraseMessages`. */
export interface ErasedMessages {
  /** The number of erased messages. Missing ids and messages that were erased before are not counted. */
  readonly erased: number
  /** The number of summaries removed because they covered an erased message. */
  readonly summaries: number
  /** The number of automatic titles cleared because they repeated an erased message. */
  readonly titles: number
  /** The branches that were renamed because their name repeated an erased message, by their new names. */
  readonly branches: readonly BranchRef[]
  /** The number of trace events emptied because they quoted an erased message. */
  readonly events: number
  /** Where the content may still be. Empty if nothing was erased. */
  readonly remains: readonly Remnant[]
}

/** The effects of `restore`. */
export interface Restored {
  /** Keys that another branch has taken in the meantime. They were not restored. */
  readonly keysTaken: readonly string[]
}

/** The effects of `purge`. */
export interface PurgedConversation {
  /** False if the conversation does not exist. */
  readonly purged: boolean
  /** The number of removed messages. */
  readonly messages: number
  /** Where the content may still be. Empty if nothing was purged. */
  readonly remains: readonly Remnant[]
}

/** How to sweep. */
export interface SweepOptions {
  /** Changes nothing, and names what a sweep would do. Default: false. */
  readonly dryRun?: boolean
  /** Most conversations that the receipt of a dry run names, 1 to 10,000. Without `dryRun` it is an error.
   *  Default: all. */
  readonly limit?: number
  /** `next` of the receipt before. */
  readonly after?: string
  /** Sweeps even if the clock has moved by more than a day since the last sweep: a person who sweeps now and
   *  then knows the time. Default: false. */
  readonly trustClock?: boolean
  /** Sweeps only if no process has swept within so many milliseconds, so that several processes can ask for a
   *  sweep at the same intervals and one of them does it. Default: sweeps always. */
  readonly ifOlderThanMs?: number
  /** Called for each expired conversation before it is moved to the trash, for example to archive it. One
   *  that changes meanwhile stays until the next sweep. If it throws, the sweep ends with its error, and the
   *  conversation stays. */
  readonly beforeTrash?: (id: ConversationId) => Promise<void>
}

/** The effects of `sweep`. */
export interface SweepReceipt {
  /** True if nothing was changed: the lists name what a sweep would do. */
  readonly dryRun: boolean
  /** True if another process had swept within `ifOlderThanMs`: then nothing was done. */
  readonly skipped: boolean
  /** Expired task conversations that were moved to the trash. */
  readonly trashed: readonly ConversationId[]
  /** Trashed conversations that were removed permanently. */
  readonly purged: readonly ConversationId[]
  /** If a dry run with a limit has more to name: pass it as `after`. Otherwise null. */
  readonly next: string | null
  /** Set if the clock has jumped by more than a day since the last sweep: then nothing else was done. */
  readonly clockJumped: { readonly from: Date; readonly to: Date } | null
  /** Where the content of purged conversations may still be. Empty if nothing was purged. */
  readonly remains: readonly Remnant[]
}

/** The effects of `compact`. */
export interface CompactReceipt {
  /** The size of the tables and indexes before, in bytes. */
  readonly bytesBefore: number
  /** The size of the tables and indexes afterwards, in bytes. */
  readonly bytesAfter: number
  /** Where content that was removed earlier may still be. */
  readonly remains: readonly Remnant[]
}
