import type { Block, TextBlock, ThinkingBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'
import { type Item, itemList, type Scales } from './item.ts'
import { joinResults, loneResult } from './join-results.ts'
import { missingReasons } from './missing.ts'
import { type Call, isCall, isResult, type Pairs, pairUp, type Shown } from './pairs.ts'
import { isSaid, sendableBlocks } from './sendable.ts'

const besideResult: TextBlock = { type: 'text', text: '[given with the result of a tool]' }

/** A path as a provider takes it. See `repair`, which shows it without the bookkeeping. */
export function viewOf(path: readonly Message[], scales: Scales): readonly Item[] {
  const shown = show(path)
  const build = builder(shown, pairUp(shown), scales)
  // What is said by the system before the first question is part of the beginning, whatever stands before it.
  for (let at = 0; at < shown.length && shown[at]!.exchange === 0; at++) {
    if (shown[at]!.message.role === 'system') build.system(at)
  }
  for (let at = 0; at < shown.length; at++) {
    const { message, exchange } = shown[at]!
    if (message.role === 'assistant') build.answer(at)
    else if (message.role !== 'system') build.said(at)
    else if (exchange > 0) build.system(at)
  }
  return build.items
}

function show(path: readonly Message[]): readonly Shown[] {
  const shown: Shown[] = []
  let exchange = 0
  for (const message of path) {
    const blocks = sendableBlocks(message)
    const opens = message.role === 'user' && blocks.some(isSaid)
    if (opens) exchange++
    shown.push({ message, blocks, opens, exchange })
  }
  return shown
}

interface Builder {
  readonly items: readonly Item[]
  system(at: number): void
  said(at: number): void
  answer(at: number): void
}

function builder(path: readonly Shown[], { calls, claims }: Pairs, scales: Scales): Builder {
  const { items, put, putResults, skip } = itemList(path, scales)
  const newest = path.at(-1)?.exchange ?? 0
  const reasonOf = missingReasons(path)

  function storedTokens(at: number, blocks: readonly Block[]): number | null {
    const { message } = path[at]!
    return blocks === message.blocks ? message.tokens : null
  }
  function putAnswer(
    at: number,
    blocks: readonly Block[],
    made: readonly Call[],
    stored = storedTokens(at, blocks),
  ): void {
    put(at, 'assistant', renamed(blocks, made), stored)
    if (made.length > 0) putResults(at, joinResults(path, made, reasonOf))
  }
  /** An answer that holds results of its own calls: an import from a system that keeps them there. */
  function putSegments(at: number, blocks: readonly Block[], made: readonly Call[]): void {
    let used = 0
    for (const segment of splitAtResults(blocks)) {
      const inSegment = made.slice(used, used + segment.filter(isCall).length)
      used += inSegment.length
      putAnswer(at, segment, inSegment)
    }
    const alone = withoutClaimed(path[at]!.blocks.filter(isResult), claims[at])
    if (alone.length > 0) put(at, 'tool_result', alone, null)
  }

  return {
    items,
    system(at) {
      const { blocks } = path[at]!
      const texts = blocks.every(isText) ? blocks : blocks.filter(isText)
      if (texts.length === 0) skip(at)
      else put(at, 'system', texts, storedTokens(at, texts))
    },
    said(at) {
      const { message, blocks, opens } = path[at]!
      const rest = withoutClaimed(blocks, claims[at])
      if (opens) put(at, 'user', rest, storedTokens(at, rest), true)
      else if (rest.length === 0) skip(at)
      else put(at, message.role, blocks.some(isSaid) ? [besideResult, ...rest] : rest, null)
    },
    answer(at) {
      const { blocks, exchange } = path[at]!
      const made = calls[at] ?? []
      const loose = exchange === newest && made.length > 0 ? 0 : looseThinking(blocks)
      const kept = loose === 0 ? blocks : blocks.filter(block => !isLoose(block))
      const before = items.length
      if (claims[at]) putSegments(at, kept, made)
      else if (kept.length > 0) {
        // What is not sent is taken off the stored count, which is cheaper than to count the rest.
        const stored = storedTokens(at, blocks)
        putAnswer(at, kept, made, stored === null ? null : Math.max(0, stored - Math.floor(loose / 4)))
      }
      if (items.length === before) skip(at)
    },
  }
}

function isText(block: Block): boolean {
  return block.type === 'text'
}

/** Thinking that no provider can check goes back only with the calls of the exchange in progress, where some
 *  (DeepSeek) want it. Anthropic and OpenAI take it only with their own signature or id, which is metadata. */
function isLoose(block: Block): boolean {
  return block.type === 'thinking' && block.metadata === undefined
}

/** Its characters. */
function looseThinking(blocks: readonly Block[]): number {
  let characters = 0
  for (const block of blocks) if (isLoose(block)) characters += (block as ThinkingBlock).text.length
  return characters
}

/** Splits an answer that holds results of its own calls behind each run of them, and takes them out. */
function splitAtResults(blocks: readonly Block[]): readonly (readonly Block[])[] {
  const segments: Block[][] = [[]]
  for (const [i, block] of blocks.entries()) {
    if (isResult(block)) continue
    const previous = blocks[i - 1]
    if (previous && isResult(previous)) segments.push([])
    segments.at(-1)!.push(block)
  }
  for (const segment of segments) while (segment.at(-1)?.type === 'thinking') segment.pop()
  return segments.filter(segment => segment.length > 0)
}

function renamed(blocks: readonly Block[], made: readonly Call[]): readonly Block[] {
  if (made.every(call => call.id === call.block.callId)) return blocks
  let next = 0
  return blocks.map(block => (isCall(block) ? { ...block, callId: made[next++]!.id } : block))
}

/** The blocks but for results that stand behind their call; those without a call are told as text, because a
 *  provider refuses a result without one. */
function withoutClaimed(blocks: readonly Block[], claimed: readonly boolean[] | undefined): readonly Block[] {
  if (!claimed) return blocks
  let next = 0
  const rest: Block[] = []
  for (const block of blocks) {
    if (!isResult(block)) rest.push(block)
    else if (!claimed[next++]) rest.push(loneResult(block))
  }
  return rest
}
