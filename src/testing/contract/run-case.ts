import type { Store } from '../../core/ports.ts'
import type { ContractCase, ContractSubject } from './contract-case.ts'

/** The start of a case's clock: 2026-01-01T00:00:00Z. */
const start = Date.UTC(2026, 0, 1)

/** Runs one case on a new store. Returns the reason if the driver cannot run it, otherwise null.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { contract, runCase, type ContractSubject } from 'skein/testing'
 *
 * // A driver opens an empty store for each case. Under a test runner: one test for each case.
 * const subject: ContractSubject = {
 *   name: 'my driver',
 *   async open(source) {
 *     const store = await openStore(':memory:', { source })
 *     const reopen = { impossible: 'a store in memory has one handle' }
 *     return { store, reopen, dispose: () => store.close() }
 *   },
 * }
 * for (const one of contract.filter(({ area }) => area === 'append')) {
 *   const skipped = await runCase(subject, one)
 *   if (skipped !== null) console.log(`${one.name}: not run, because ${skipped}`)
 * }
 * ```
 */
export async function runCase(subject: ContractSubject, contractCase: ContractCase): Promise<string | null> {
  const clock = { now: start }
  let made = 0
  const opened = await subject.open({
    now: () => clock.now,
    // Counted, not random, so that a failing case can be reproduced.
    uuid: () => `00000000-0000-4000-8000-${(++made).toString(16).padStart(12, '0')}`,
  })
  const others: Store[] = []
  try {
    const { reopen } = opened
    if (contractCase.needs === 'second handle' && typeof reopen !== 'function') return reopen.impossible
    await contractCase.run({
      store: opened.store,
      clock,
      second: async () => {
        if (typeof reopen !== 'function') throw new Error(`the case must say that it needs a second handle`)
        const other = await reopen()
        others.push(other)
        return other
      },
    })
    return null
  } finally {
    for (const other of others) await other.close()
    await opened.dispose()
  }
}
