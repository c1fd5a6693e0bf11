import type { Item, Scales } from './item.ts'
import { roomWithMargin } from './margin.ts'
import { exceeds, type Room, roomFor } from './room.ts'
import { type Trimmed, trimming } from './trim.ts'

export interface Squeezed extends Trimmed {
  /** False if it is still too much. */
  readonly fits: boolean
}

/** What counts as long, in characters: first generously, and if that does not help, nearly anything. */
const [long, anything] = [1_000, 100]

const noLimit = Number.POSITIVE_INFINITY

/** Makes the newest exchange small enough: the question and the last step always stay. Old results are cut first,
 *  then old steps left out, both with a margin; and only then is anything done to the newest `keepRecent` messages:
 *  their results are cut, all steps but the last left out, texts cut from the oldest on, the question last of all. */
export function squeeze(items: readonly Item[], room: Room, keepRecent: number, scales: Scales): Squeezed {
  if (exceeds(roomFor(items), room) === null) return { kept: items, left: [], cut: [], fits: true }
  const trim = trimming(items, scales)
  // What always stays may be more messages than are allowed.
  const space: Room = { ...room, messages: noLimit }
  const spaceWithMargin = (): Room => ({ ...space, tokens: roomWithMargin(trim.taken.tokens, room.tokens) })

  trim.leaveSteps(1, { tokens: noLimit, messages: room.messages, characters: noLimit })
  const recent = recentSteps(trim.steps, keepRecent)
  trim.cutSteps(trim.steps.length - recent, 'results', long, spaceWithMargin())
  trim.leaveSteps(recent, spaceWithMargin())
  trim.cutAll('results', long, space)
  trim.leaveSteps(1, space)
  trim.cutAll('texts', long, space)
  trim.cutAll('results', anything, space)
  trim.cutAll('texts', anything, space)
  return { ...trim.result(), fits: exceeds(trim.taken, space) === null }
}

/** How many of the last steps hold the newest `keepRecent` messages, one at least. */
function recentSteps(steps: readonly (readonly Item[])[], keepRecent: number): number {
  let messages = 0
  let recent = 0
  for (const step of steps.toReversed()) {
    messages += step.length
    if (messages > keepRecent && recent > 0) break
    recent++
  }
  return Math.max(1, recent)
}
