import { first, type Program, run } from '../../engine/engine.ts'

/** How long a process that indexes keeps others from doing the same, after its last batch. */
export const indexLeaseMs = 2_000

const name = 'indexing_until'

/** `wait` respects the lease of another process. `force` takes it over: a caller waits for the index. */
export type ClaimMode = 'wait' | 'force'

/** Claims the search index for this process and returns the end of the lease, or null if another process has
 *  it. A lease only saves work: two processes that index at once write each entry once. */
export function* claimIndexing({
  held,
  now,
  mode,
}: {
  /** The end of the last lease of this process. */
  readonly held: number | null
  readonly now: number
  readonly mode: ClaimMode
}): Program<number | null> {
  const until = (yield* first('state', { name }))?.value ?? 0
  // A lease from the future is of a clock that was wrong.
  const isTaken = until !== held && until > now && until <= now + indexLeaseMs
  if (isTaken && mode === 'wait') return null
  // Renewed only now and then: a row that every batch rewrites would cost more than it saves.
  if (until === held && until > now + indexLeaseMs / 2 && until <= now + indexLeaseMs) return until
  const next = now + indexLeaseMs
  yield* run('putState', { name, value: next })
  return next
}
