import type { Block } from '../core/block.ts'
import { type Cuttable, cutBlock, cuttableLength } from './cut.ts'
import { exchangeOf } from './exchange.ts'
import type { LeftReason } from './fitted.ts'
import { exceeds, type Room, roomFor } from './room.ts'
import type { Item, Scales } from './view.ts'

export interface Squeezed {
  readonly kept: readonly Item[]
  readonly left: readonly { readonly item: Item; readonly reason: LeftReason }[]
  /** What was cut, before and after. */
  readonly cut: readonly (readonly [before: Item, after: Item])[]
  /** False if it is still too much. */
  readonly fits: boolean
}

/** What counts as long, in characters: first generously, and if that does not help, nearly anything. */
const longEnough = [1_000, 100] as const

/** Makes the newest exchange small enough: the question and the last step always stay. Old results are cut first,
 *  then old steps left out, and only then is anything done to the newest `keepRecent` messages: their results are
 *  cut, all steps but the last left out, texts cut from the oldest on, the question last of all. */
export function squeeze(items: readonly Item[], room: Room, keepRecent: number, scales: Scales): Squeezed {
  const total = roomFor(items)
  if (exceeds(total, room) === null) return { kept: items, left: [], cut: [], fits: true }
  const exchange = exchangeOf(items)
  const head = [...exchange.head]
  let steps = exchange.steps.map(step => [...step])
  const originals = new Map<Item, Item>()
  const left: { item: Item; reason: LeftReason }[] = []
  /** What is too much but for the number of messages, which cutting does not change. */
  const exceeded = () => exceeds({ ...total, messages: 0 }, room)

  function add({ tokens, characters }: Item, sign: 1 | -1): void {
    total.tokens += sign * tokens
    total.messages += sign
    total.characters += sign * characters
  }
  function leaveSteps(least: number, reason: () => LeftReason | null): void {
    let gone = 0
    for (let why = reason(); why !== null && steps.length - gone > least; why = reason()) {
      for (const item of steps[gone]!) {
        add(item, -1)
        left.push({ item: originals.get(item) ?? item, reason: why })
      }
      gone++
    }
    steps = steps.slice(gone)
  }
  function cutIn(place: Item[], index: number, what: Cuttable, long: number): void {
    const { blocks } = place[index]!.message
    for (let i = 0; i < blocks.length && exceeded() !== null; i++) {
      let length = cuttableLength(blocks[i]!, what)
      while (length > long && exceeded() !== null) {
        const before = place[index]!
        const most = Math.max(long, length - tooMany())
        const after = withBlock(before, i, cutBlock(before.message.blocks[i]!, most), scales)
        const shorter = cuttableLength(after.message.blocks[i]!, what)
        if (shorter >= length) break
        length = shorter
        add(before, -1)
        add(after, 1)
        place[index] = after
        originals.set(after, originals.get(before) ?? before)
      }
    }
  }
  /** In characters. That a token has four of them is a guess: where it is wrong, more is cut the next time. */
  function tooMany(): number {
    return Math.max(total.characters - room.characters, (total.tokens - room.tokens) * 4)
  }
  function cutAll(what: Cuttable, long: number, until = steps.length): void {
    for (const step of steps.slice(0, until)) {
      for (let i = 0; i < step.length; i++) cutIn(step, i, what, long)
    }
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

  const kept = [...head, ...steps.flat()]
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

function withBlock(item: Item, index: number, block: Block, scales: Scales): Item {
  const blocks = item.message.blocks.with(index, block)
  return {
    ...item,
    message: { ...item.message, blocks },
    tokens: scales.tokens(blocks, null),
    characters: scales.characters(blocks),
  }
}
