import { existsSync } from 'node:fs'
import type { World } from '../world.ts'
import { homely } from './homely.ts'

/** Where things will be kept from now on; null if something is kept there already. */
export function firstPlace(world: World): string | null {
  const { target } = world.place()
  return target.includes('://') || target === ':memory:' || existsSync(target)
    ? null
    : homely(target, world.env)
}
