import type { Store } from '../../core/ports.ts'
import type { Source } from '../../core/source.ts'

/** A driver, as the contract sees it: something that opens fresh, empty stores. */
export interface ContractSubject {
  readonly name: string
  open(source: Source): Promise<OpenedStore>
}

export interface OpenedStore {
  readonly store: Store
  /** A second, independent handle on the same data, as another process would have; or the reason why
   *  there cannot be one. */
  readonly reopen: (() => Promise<Store>) | { readonly impossible: string }
  /** Closes the store and removes what was made for it. */
  dispose(): Promise<void>
}

/** What a case works with. The clock stands still unless the case moves it. */
export interface CaseContext {
  readonly store: Store
  readonly clock: { now: number }
  /** A second handle; only for cases with `needs: 'second handle'`. Closed after the case. */
  second(): Promise<Store>
}

/** One sentence of the contract. Throws, by `node:assert`, if the driver does not keep it. */
export interface ContractCase {
  readonly area: string
  /** Reads as a sentence, with the numbers of the requirements it satisfies behind it. */
  readonly name: string
  readonly needs?: 'second handle'
  readonly run: (world: CaseContext) => Promise<void>
}
