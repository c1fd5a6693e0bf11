import type { Block } from '../core/block.ts'
import { type Cuttable, cutBlock, cuttableLength } from './cut.ts'
import { type Exchange, messagesOf, type Sized } from './exchange.ts'
import type { LeftReason } from './fitted.ts'
import type { Item } from './view.ts'

/** What messages may take up. */
export interface Room {
  readonly tokens: number
  readonly messages: number
  readonly characters: number
}

/** Weighs what was changed. */
export type Weigh = (item: Item) => Sized

export interface Squeezed {
  readonly kept: readonly Sized[]
  readonly left: readonly { readonly sized: Sized; readonly reason: LeftReason }[]
  /** What was cut, before and after. */
  readonly cut: readonly (readonly [before: Sized, after: Sized])[]
  /** False if it is still too much. */
  readonly fits: boolean
}

/** What counts as long, in characters: first generously, and if that does not help, anything. */
const longEnough = [1_000, 100] as const

/** Makes the newest exchange small enough: the question and the last step always stay. Old results are cut first,
 *  then old steps left out, and only then is anything done to the newest `keepRecent` messages: their results are
 *  cut, all steps but the last left out, texts cut from the oldest on, the question last of all. */
export function squeeze(exchange: Exchange, room: Room, keepRecent: number, weigh: Weigh): Squeezed {
  let steps = exchange.steps.map(step => [...step])
  const head = [...exchange.head]
  const originals = new Map<Sized, Sized>()
  const left: { sized: Sized; reason: LeftReason }[] = []
  const total = { tokens: 0, messages: 0, characters: 0 }
  for (const sized of messagesOf(exchange)) add(sized, 1)

  function add({ tokens, characters }: Sized, sign: 1 | -1): void {
    total.tokens += sign * tokens
    total.messages += sign
    total.characters += sign * characters
  }
  function exceeded(): LeftReason | null {
    if (total.tokens > room.tokens) return 'window'
    return total.characters > room.characters ? 'max_chars' : null
  }
  function leaveSteps(most: number, reason: () => LeftReason | null): void {
    let gone = 0
    for (let why = reason(); why !== null && steps.length - gone > Math.max(1, most); why = reason()) {
      for (const sized of steps[gone]!) {
        add(sized, -1)
        left.push({ sized: originals.get(sized) ?? sized, reason: why })
      }
      gone++
    }
    steps = steps.slice(gone)
  }
  function cutIn(place: Sized[], index: number, what: Cuttable, long: number): void {
    const { blocks } = place[index]!.item.message
    for (let i = 0; i < blocks.length && exceeded() !== null; i++) {
      let length = cuttableLength(blocks[i]!, what)
      while (length > long && exceeded() !== null) {
        const before = place[index]!
        const most = Math.max(long, length - tooMany())
        const after = weigh(withBlock(before.item, i, cutBlock(before.item.message.blocks[i]!, most)))
        const shorter = cuttableLength(after.item.message.blocks[i]!, what)
        if (shorter >= length) break
        length = shorter
        add(before, -1)
        add(after, 1)
        place[index] = after
        originals.set(after, originals.get(before) ?? before)
      }
    }
  }
  /** At least a fifth of what is too much at a time, where the guess of four characters a token is far off. */
  function tooMany(): number {
    return Math.max(total.characters - room.characters, (total.tokens - room.tokens) * 4, 1)
  }
  function cutAll(what: Cuttable, long: number, until = steps.length): void {
    for (const step of steps.slice(0, until)) for (let i = 0; i < step.length; i++) cutIn(step, i, what, long)
    if (until < steps.length) return
    for (let i = head.length - 1; i >= 0; i--) cutIn(head, i, what, long)
  }

  leaveSteps(1, () => (total.messages > room.messages ? 'max_messages' : null))
  const recent = recentSteps(steps, keepRecent)
  if (recent < steps.length) cutAll('results', longEnough[0], steps.length - recent)
  leaveSteps(recent, exceeded)
  cutAll('results', longEnough[0])
  leaveSteps(1, exceeded)
  cutAll('texts', longEnough[0])
  cutAll('results', longEnough[1])
  cutAll('texts', longEnough[1])

  const kept = messagesOf({ head, steps })
  return {
    kept,
    left,
    cut: kept.flatMap(after => {
      const before = originals.get(after)
      return before ? [[before, after] as const] : []
    }),
    fits: exceeded() === null,
  }
}

/** How many of the last steps hold the newest `keepRecent` messages, one at least. */
function recentSteps(steps: readonly (readonly Sized[])[], keepRecent: number): number {
  let messages = 0
  let recent = 0
  for (let i = steps.length - 1; i >= 0; i--) {
    messages += steps[i]!.length
    if (messages > keepRecent && recent > 0) break
    recent++
  }
  return recent
}

function withBlock(item: Item, index: number, block: Block): Item {
  const blocks = item.message.blocks.with(index, block)
  return { ...item, message: { ...item.message, blocks }, tokens: null }
}
