import { statSync } from 'node:fs'
import type { Store } from '../../core/ports.ts'
import type { Outputs } from '../output/output.ts'
import { printNote } from '../output/print.ts'
import type { StoreMemory } from './open-configured-store.ts'
import type { StoreLocation } from './store-location.ts'

/** The store of a command. */
export interface StoreAccess {
  /** The location of the store. */
  location(): StoreLocation
  /** Opens the store once. `main` closes it in every case. The first call decides about its memory. */
  store(memory?: StoreMemory): Promise<Store>
}

/** Runs with the store. Does not create a file: if it does not exist, the store is empty and in memory. */
export async function withStore(
  context: StoreAccess & Outputs,
  read: (store: Store) => Promise<number>,
  memory?: StoreMemory,
): Promise<number> {
  const { target, isFile, kind } = context.location()
  if (!isFile || !isMissing(target)) return read(await context.store(memory))
  if (kind === 'given') printNote(context, `there is no store at ${target} yet`)
  const { openStore } = await import('../../stores/open.ts')
  await using empty = await openStore(':memory:')
  return await read(empty)
}

/** Whether the file surely does not exist. A file in a folder that may not be entered is not missing: opening
 *  it reports the reason. */
function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}
