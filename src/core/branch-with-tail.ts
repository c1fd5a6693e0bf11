import type { BranchRef } from './branch.ts'
import type { BranchInConversation, ReadOptions } from './ports.ts'
import type { Summary } from './summary.ts'
import type { Tail, TailBudget } from './tail.ts'

/** A branch with what a program needs to continue it. */
export interface BranchWithTail extends BranchInConversation {
  /** The newest part of its path. */
  readonly tail: Tail
  /** The newest summaries of the conversation, the newest first. Empty unless `summaries` asks for them. */
  readonly summaries: readonly Summary[]
}

/** How a branch is read with its tail. */
export interface FindWithTailOptions extends Pick<ReadOptions, 'blobs'> {
  /** Most summaries to read. They are sorted by their last message. Default: 0. */
  readonly summaries?: number
}

/** Finds a branch together with the newest part of its path. */
export interface TailFinder {
  /** A branch, by its key or by its conversation and name, with the newest part of its path; null if there is
   *  none. Expired and trashed conversations are not found by a key. Reads one snapshot, on PostgreSQL in one
   *  round trip: `findByKey` and `tail` take two.
   *
   * @example
   * ```ts
   * import { openStore, textOf } from 'skein'
   *
   * await using store = await openStore(':memory:')
   * const { branch } = await store.findOrCreate('discord:dm:42')
   * await store.append(branch, branch.head, [{ role: 'user', content: 'Hello' }])
   *
   * const found = await store.findWithTail('discord:dm:42', { messages: 40 })
   * console.log(found?.tail.messages.map(textOf)) // [ 'Hello' ]
   * ```
   */
  findWithTail(
    branch: string | BranchRef,
    budget: TailBudget,
    options?: FindWithTailOptions,
  ): Promise<BranchWithTail | null>
}
