import type { Block } from '../core/block.ts'
import { type Cuttable, cutBlock, cuttableLength } from './cut.ts'
import { exchangeOf } from './exchange.ts'
import type { LeftReason } from './fitted.ts'
import type { Item, Scales } from './item.ts'
import { exceeds, type Room, roomFor } from './room.ts'

/** An exchange that is being made smaller. Whatever is done to it ends as soon as it fits into the room given. */
export interface Trimming {
  /** What it takes up at the moment. */
  readonly taken: Readonly<Room>
  /** Its answers, each with the results of its calls, that are left. */
  readonly steps: readonly (readonly Item[])[]
  /** Leaves out steps, the oldest first, and keeps so many at least. */
  leaveSteps(least: number, room: Room): void
  /** Cuts in the oldest so many steps what has more than `long` characters. */
  cutSteps(count: number, what: Cuttable, long: number, room: Room): void
  /** The same in all steps, and after them in the question. */
  cutAll(what: Cuttable, long: number, room: Room): void
  result(): Trimmed
}

/** What became of it. */
export interface Trimmed {
  readonly kept: readonly Item[]
  readonly left: readonly { readonly item: Item; readonly reason: LeftReason }[]
  /** What was cut, before and after. */
  readonly cut: readonly (readonly [before: Item, after: Item])[]
}

export function trimming(items: readonly Item[], scales: Scales): Trimming {
  const taken = roomFor(items)
  const exchange = exchangeOf(items)
  const head = [...exchange.head]
  let steps = exchange.steps.map(step => [...step])
  const originals = new Map<Item, Item>()
  const left: { item: Item; reason: LeftReason }[] = []

  function add({ tokens, characters }: Item, sign: 1 | -1): void {
    taken.tokens += sign * tokens
    taken.messages += sign
    taken.characters += sign * characters
  }
  function replace(place: Item[], index: number, after: Item): void {
    const before = place[index]!
    add(before, -1)
    add(after, 1)
    place[index] = after
    originals.set(after, originals.get(before) ?? before)
  }
  function cutBlocks(place: Item[], index: number, what: Cuttable, long: number, room: Room): void {
    for (let i = 0; i < place[index]!.message.blocks.length; i++) {
      for (let length = Number.POSITIVE_INFINITY; exceeds(taken, room) !== null; ) {
        const block = place[index]!.message.blocks[i]!
        const now = cuttableLength(block, what)
        // It does not get any shorter.
        if (now <= long || now >= length) break
        length = now
        const shorter = cutBlock(block, Math.max(long, length - tooMany(taken, room)))
        replace(place, index, withBlock(place[index]!, i, shorter, scales))
      }
    }
  }
  function cutSteps(count: number, what: Cuttable, long: number, room: Room): void {
    for (const step of steps.slice(0, Math.max(0, count))) {
      for (let i = 0; i < step.length; i++) cutBlocks(step, i, what, long, room)
    }
  }

  return {
    taken,
    get steps() {
      return steps
    },
    leaveSteps(least, room) {
      let gone = 0
      for (let why = exceeds(taken, room); why !== null && steps.length - gone > least; gone++) {
        for (const item of steps[gone]!) {
          add(item, -1)
          left.push({ item: originals.get(item) ?? item, reason: why })
        }
        why = exceeds(taken, room)
      }
      steps = steps.slice(gone)
    },
    cutSteps,
    cutAll(what, long, room) {
      cutSteps(steps.length, what, long, room)
      for (let i = head.length - 1; i >= 0; i--) cutBlocks(head, i, what, long, room)
    },
    result() {
      const kept = [...head, ...steps.flat()]
      const cut = kept.flatMap(after => {
        const before = originals.get(after)
        return before ? [[before, after] as const] : []
      })
      return { kept, left, cut }
    },
  }
}

/** How much is too much, in characters. That a token has four of them is a guess: where it is wrong, more is cut the
 *  next time. */
function tooMany(taken: Room, room: Room): number {
  return Math.max(taken.characters - room.characters, (taken.tokens - room.tokens) * 4)
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
