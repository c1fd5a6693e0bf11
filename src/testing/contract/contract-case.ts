import type { Store } from '../../core/ports.ts'
import type { Source } from '../../core/source.ts'

/** A driver under test: opens new, empty stores. */
export interface ContractSubject {
  /** The name of the driver, for the names of tests. */
  readonly name: string
  /** Opens a store that holds no data of other cases. It has to use the clock and the ids of `source`. */
  open(source: Source): Promise<OpenedStore>
}

/** A store under test, and how to get rid of it. */
export interface OpenedStore {
  /** The store that the case uses. */
  readonly store: Store
  /** Opens a second, independent handle on the same data, as another process would; or the reason why this
   *  is impossible. */
  readonly reopen: (() => Promise<Store>) | { readonly impossible: string }
  /** Closes the store and removes its data. */
  dispose(): Promise<void>
}

/** The environment of a case. The clock only moves if the case moves it. */
export interface CaseContext {
  /** A new, empty store. */
  readonly store: Store
  /** The time of the store, in milliseconds since 1970. A case assigns `now` to move it. */
  readonly clock: { now: number }
  /** A second handle, for cases with `needs: 'second handle'`. Closed after the case. */
  second(): Promise<Store>
}

/** A requirement of the contract. Throws an error of `node:assert` if the driver does not meet it. */
export interface ContractCase {
  /** The group of the case: `append`, `search`, `trash` … */
  readonly area: string
  /** A sentence about the behaviour. Requirement numbers follow in parentheses. */
  readonly name: string
  readonly needs?: 'second handle'
  /** Runs the case. `runCase` calls it with a new store. */
  readonly run: (world: CaseContext) => Promise<void>
}
