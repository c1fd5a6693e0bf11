import { existsSync } from 'node:fs'
import type { Store } from '../../core/ports.ts'
import type { Outputs } from '../output/output.ts'
import { printNote } from '../output/print.ts'
import type { StoreLocation } from './store-location.ts'

/** The store of a command. */
export interface StoreAccess {
  /** Where the data is. */
  location(): StoreLocation
  /** Opens the store once; main closes it, on every way out. */
  store(): Promise<Store>
}

/** Runs with the store, to read in it. Looking makes no file: where there is none yet, the store is an empty one. */
export async function withStore(
  context: StoreAccess & Outputs,
  read: (store: Store) => Promise<number>,
): Promise<number> {
  const { target, isFile, kind } = context.location()
  if (!isFile || existsSync(target)) return read(await context.store())
  if (kind === 'given') printNote(context, `there is no store at ${target} yet`)
  const { openStore } = await import('../../stores/open.ts')
  await using empty = await openStore(':memory:')
  return await read(empty)
}
