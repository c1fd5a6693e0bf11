import type { IndexOptions } from './listing.ts'
import type { CompactReceipt, SweepOptions, SweepReceipt } from './removal.ts'

/** Maintains the store. */
export interface Maintainer {
  /** Moves expired task conversations to the trash, and purges those that have been in the trash for seven
   *  days and at least two sweeps. A store does not run it by itself. */
  sweep(options?: SweepOptions): Promise<SweepReceipt>
  /** Completes the search index, in short pieces. Returns the number of messages that it indexed. Returns
   *  early if nothing can be written: on a read-only store, and on a full disk. Throws UnavailableError if
   *  nothing else is left to do and a lock of another program still keeps it from the rest after 5 s. */
  indexSearch(options?: IndexOptions): Promise<number>
  /** Drops the search index. It is built again in the background, or by `indexSearch`. */
  rebuildSearch(): Promise<void>
  /** Rewrites the tables, so that no removed content remains in them, and returns free space to the system.
   *  On SQLite it runs VACUUM on the whole file. On PostgreSQL it runs VACUUM FULL on Skein's tables, those
   *  of all tenants: each is locked while it is rewritten, and the role must own it. Needs as much free
   *  space on the disk as the tables take. */
  compact(): Promise<CompactReceipt>
  /** The version of the schema that the store has, which is the number of its last migration. */
  schemaVersion(): Promise<number>
}
