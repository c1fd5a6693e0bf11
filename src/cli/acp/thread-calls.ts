import type { StoreMemory } from '../store/open-configured-store.ts'

/** What the proxy and the thread of its store send to each other. Values are copied as `structuredClone`
 *  copies them. */

/** What the thread is started with. */
export interface ThreadStart {
  /** The file of the store. */
  readonly target: string
  /** The folder whose configuration applies. */
  readonly cwd: string
  readonly memory: StoreMemory
}

/** A call of a method of the store. */
export interface ThreadCall {
  readonly id: number
  readonly method: string
  readonly args: readonly unknown[]
}

/** The first answer of the thread, and then one for each call. */
export type ThreadAnswer =
  | { readonly type: 'opened'; readonly leaseMs: number }
  | { readonly type: 'refused'; readonly error: CopiedError }
  | { readonly type: 'returned'; readonly id: number; readonly value: unknown }
  | { readonly type: 'threw'; readonly id: number; readonly error: CopiedError }

/** An error as data: a copied error keeps neither its class nor its fields. */
export interface CopiedError {
  readonly message: string
  readonly stack: string | undefined
  /** The own fields of the error, such as `code`, `hint` and `holder`. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly cause: CopiedError | null
}
