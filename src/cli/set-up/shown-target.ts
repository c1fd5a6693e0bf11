import { homely } from '../talk/homely.ts'
import type { World } from '../world.ts'

/** Where the data is: an address without the password that may stand in it, a file with `~` for people and in full for
 *  programs. */
export function shownTarget(world: Pick<World, 'place' | 'env' | 'json'>): string {
  const { target } = world.place()
  if (!URL.canParse(target) || !target.includes('://')) return world.json ? target : homely(target, world.env)
  const url = new URL(target)
  if (url.password) url.password = '***'
  for (const name of [...url.searchParams.keys()]) {
    if (/pass|secret|key/i.test(name)) url.searchParams.set(name, '***')
  }
  return url.toString()
}
