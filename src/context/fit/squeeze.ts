import type { Block } from '../../core/block.ts'
import type { BlockCounter, Item } from '../view/item.ts'
import { type CutTarget, cutBlock, cuttableLength } from './cut.ts'
import { exceeds, type LeftReason, type Room, roomFor, roomWithMargin } from './window.ts'

/** The newest exchange, made smaller. */
export interface Squeezed {
  readonly kept: readonly Item[]
  readonly left: readonly { readonly item: Item; readonly reason: LeftReason }[]
  /** The shortened messages, before and after. */
  readonly cut: readonly (readonly [before: Item, after: Item])[]
  /** False if it is still too large. */
  readonly fits: boolean
}

/** What counts as long, in characters: first a generous limit, then nearly everything. */
const [long, anything] = [1_000, 100]

const noLimit = Number.POSITIVE_INFINITY

/** Makes the newest exchange fit. The question and the last step always stay. First, old results are
 *  shortened, then old steps are left out, both with a margin. If that is not enough, the newest `keepRecent`
 *  messages follow: their results are shortened, all steps except the last are left out, and texts are
 *  shortened, the oldest first and the question last. */
export function squeeze(
  items: readonly Item[],
  room: Room,
  keepRecent: number,
  counter: BlockCounter,
): Squeezed {
  if (exceeds(roomFor(items), room) === null) return { kept: items, left: [], cut: [], fits: true }
  const trim = trimming(items, counter)
  // The messages that always stay may be more than `room.messages`.
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

/** How many of the last steps hold the newest `keepRecent` messages; at least one. */
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

/** A question of the user and everything up to the next one. */
export interface Exchange {
  /** The question, and the messages before the first answer. */
  readonly head: readonly Item[]
  /** Each answer with the results of its calls. */
  readonly steps: readonly (readonly Item[])[]
}

/** Splits the messages of one exchange into steps. */
export function exchangeOf(items: readonly Item[]): Exchange {
  const head: Item[] = []
  const steps: Item[][] = []
  for (const item of items) {
    if (item.message.role === 'assistant') steps.push([item])
    else (steps.at(-1) ?? head).push(item)
  }
  return { head, steps }
}

/** An exchange that is being made smaller. Each operation stops as soon as the exchange fits into the given
 *  room. */
interface Trimming {
  /** The current size. */
  readonly taken: Readonly<Room>
  /** The remaining steps. */
  readonly steps: readonly (readonly Item[])[]
  /** Leaves out steps, the oldest first, down to `least`. */
  leaveSteps(least: number, room: Room): void
  /** Shortens blocks of more than `long` characters in the oldest `count` steps. */
  cutSteps(count: number, what: CutTarget, long: number, room: Room): void
  /** The same in all steps, and then in the question. */
  cutAll(what: CutTarget, long: number, room: Room): void
  result(): Omit<Squeezed, 'fits'>
}

function trimming(items: readonly Item[], counter: BlockCounter): Trimming {
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
  function replace(list: Item[], index: number, after: Item): void {
    const before = list[index]!
    add(before, -1)
    add(after, 1)
    list[index] = after
    originals.set(after, originals.get(before) ?? before)
  }
  function cutBlocks(list: Item[], index: number, what: CutTarget, long: number, room: Room): void {
    for (let i = 0; i < list[index]!.message.content.length; i++) {
      for (let length = Number.POSITIVE_INFINITY; exceeds(taken, room) !== null; ) {
        const block = list[index]!.message.content[i]!
        const now = cuttableLength(block, what)
        // Stop if the block does not get any shorter.
        if (now <= long || now >= length) break
        length = now
        const shorter = cutBlock(block, Math.max(long, length - excessCharacters(taken, room)))
        replace(list, index, withBlock(list[index]!, i, shorter, counter))
      }
    }
  }
  function cutSteps(count: number, what: CutTarget, long: number, room: Room): void {
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

/** The excess in characters. Four characters per token is an estimate: where it is too low, the next round
 *  cuts more. */
function excessCharacters(taken: Room, room: Room): number {
  return Math.max(taken.characters - room.characters, (taken.tokens - room.tokens) * 4)
}

function withBlock(item: Item, index: number, block: Block, counter: BlockCounter): Item {
  const blocks = item.message.content.with(index, block)
  return {
    ...item,
    message: { ...item.message, content: blocks },
    tokens: counter.tokens(blocks, null),
    characters: counter.characters(blocks),
  }
}
