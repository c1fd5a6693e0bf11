import { type Cold, type ColdArgs, measureCold } from './cold-turns.ts'
import { openOurs } from './ours.ts'

/** The entry of the bundle that runs from compiled code. */
export async function measureOurs({ file, durability, from }: ColdArgs): Promise<Cold> {
  return measureCold(await openOurs(file, durability), from)
}
