import type { Store } from '../../core/ports.ts'
import type { Source } from '../../core/source.ts'

/** A driver under test: opens new, empty stores. */
export interface ContractSubject {
  readonly name: string
  open(source: Source): Promise<OpenedStore>
}

export interface OpenedStore {
  readonly store: Store
  /** Opens a second, independent handle on the same data, as another process would; or the reason why this
   *  is impossible. */
  readonly reopen: (() => Promise<Store>) | { readonly impossible: string }
  /** Closes the store and removes its data. */
  dispose(): Promise<void>
}

/** The environment of a case. The clock only moves if the case moves it. */
export interface CaseContext {
  readonly store: Store
  readonly clock: { now: number }
  /** A second handle, for cases with `needs: 'second handle'`. Closed after the case. */
  second(): Promise<Store>
}

/** A requirement of the contract. Throws an error of `node:assert` if the driver does not meet it. */
export interface ContractCase {
  readonly area: string
  /** A sentence about the behaviour. Requirement numbers follow in parentheses. */
  readonly name: string
  readonly needs?: 'second handle'
  readonly run: (world: CaseContext) => Promise<void>
}
