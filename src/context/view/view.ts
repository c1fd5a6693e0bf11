import type { Block, TextBlock, ThinkingBlock } from '../../core/block.ts'
import { checkList } from '../../core/check.ts'
import type { Message } from '../../core/message.ts'
import type { ContextMessage } from '../../core/model.ts'
import { type BlockCounter, type Item, itemList } from './item.ts'
import {
  isCall,
  isResult,
  joinResults,
  loneResult,
  missingReasons,
  type PairedCall,
  type Pairs,
  pairUp,
  type SendableMessage,
} from './pairs.ts'
import { isSaid, sendableBlocks } from './sendable.ts'

const uncounted: BlockCounter = { tokens: () => 0, characters: () => 0 }

/** Shows a path so that no provider refuses it for its shape. Stores nothing.
 *  - Each answer with tool calls is directly followed by one message with their results, in the order of the
 *    calls, wherever they are stored. A call without a result gets one that says why: interrupted, failed,
 *    imported, erased. A result without a call becomes text.
 *  - Ids of calls are unique; one that recurs is replaced in the call and in the result.
 *  - Thinking with metadata (a signature) stays unchanged, in its position; without metadata it stays only
 *    next to the calls of the exchange in progress.
 *  - System messages before the first question are at the beginning, later ones in their position.
 *  - Erased messages show `[erased]`; messages without sendable blocks are left out. */
export function repair(path: readonly Message[]): readonly ContextMessage[] {
  checkList(path, 'path', 'a list of messages')
  return viewOf(path, uncounted).map(item => item.message)
}

/** The same as `repair`, with the size of each message and the messages of the path that it represents. */
export function viewOf(path: readonly Message[], counter: BlockCounter): readonly Item[] {
  const sendable = sendableMessages(path)
  const build = builder(sendable, pairUp(sendable), counter)
  // System messages before the first question come first, also if other messages precede them.
  for (let at = 0; at < sendable.length && sendable[at]!.exchange === 0; at++) {
    if (sendable[at]!.message.role === 'system') build.system(at)
  }
  for (let at = 0; at < sendable.length; at++) {
    const { message, exchange } = sendable[at]!
    if (message.role === 'assistant') build.answer(at)
    else if (message.role !== 'system') build.said(at)
    else if (exchange > 0) build.system(at)
  }
  return build.items
}

function sendableMessages(path: readonly Message[]): readonly SendableMessage[] {
  const sendable: SendableMessage[] = []
  let exchange = 0
  for (const message of path) {
    const blocks = sendableBlocks(message)
    const opens = message.role === 'user' && blocks.some(isSaid)
    if (opens) exchange++
    sendable.push({ message, blocks, opens, exchange })
  }
  return sendable
}

interface Builder {
  readonly items: readonly Item[]
  system(at: number): void
  /** A message of the user or with tool results. */
  said(at: number): void
  answer(at: number): void
}

const withResult: TextBlock = { type: 'text', text: '[given with the result of a tool]' }

function builder(path: readonly SendableMessage[], { calls, claims }: Pairs, counter: BlockCounter): Builder {
  const { items, put, putResults, skip } = itemList(path, counter)
  const newest = path.at(-1)?.exchange ?? 0
  const reasonOf = missingReasons(path)

  function storedTokens(at: number, blocks: readonly Block[]): number | null {
    const { message } = path[at]!
    return blocks === message.content ? message.tokens : null
  }
  function putAnswer(
    at: number,
    blocks: readonly Block[],
    made: readonly PairedCall[],
    stored = storedTokens(at, blocks),
  ): void {
    put(at, 'assistant', withUniqueIds(blocks, made), stored)
    if (made.length > 0) putResults(at, joinResults(path, made, reasonOf))
  }
  /** An answer that contains the results of its own calls: an import from a system that stores them there. */
  function putSegments(at: number, blocks: readonly Block[], made: readonly PairedCall[]): void {
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
      else put(at, message.role, blocks.some(isSaid) ? [withResult, ...rest] : rest, null)
    },
    answer(at) {
      const { blocks, exchange } = path[at]!
      const made = calls[at] ?? []
      const unsigned = exchange === newest && made.length > 0 ? 0 : unsignedCharacters(blocks)
      const kept = unsigned === 0 ? blocks : blocks.filter(block => !isUnsignedThinking(block))
      const before = items.length
      if (claims[at]) putSegments(at, kept, made)
      else if (kept.length > 0) {
        // Subtracting the thinking from the stored count is cheaper than counting the rest.
        const stored = storedTokens(at, blocks)
        putAnswer(at, kept, made, stored === null ? null : Math.max(0, stored - Math.floor(unsigned / 4)))
      }
      if (items.length === before) skip(at)
    },
  }
}

function isText(block: Block): boolean {
  return block.type === 'text'
}

/** Thinking without metadata is sent only with the calls of the exchange in progress, where some providers
 *  (DeepSeek) require it. Anthropic and OpenAI accept thinking only with their own signature or id, which is
 *  metadata. */
function isUnsignedThinking(block: Block): boolean {
  return block.type === 'thinking' && block.metadata === undefined
}

function unsignedCharacters(blocks: readonly Block[]): number {
  let characters = 0
  for (const block of blocks) {
    if (isUnsignedThinking(block)) characters += (block as ThinkingBlock).text.length
  }
  return characters
}

/** Splits an answer that contains results after each run of them, and removes them. */
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

function withUniqueIds(blocks: readonly Block[], made: readonly PairedCall[]): readonly Block[] {
  if (made.every(call => call.id === call.block.callId)) return blocks
  let next = 0
  return blocks.map(block => (isCall(block) ? { ...block, callId: made[next++]!.id } : block))
}

/** The blocks without the results that follow their call. A result without a call becomes text, because
 *  providers refuse it. */
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
