import type { Block, TextBlock, ToolResultBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'
import type { ContextMessage } from '../core/model.ts'
import { type MissingReason, missingReasons, missingResult } from './missing.ts'
import { type Call, isCall, isResult, type Pairs, pairUp, type Shown } from './pairs.ts'
import { isSaid, sendableBlocks } from './sendable.ts'

/** One message of the view of a path, and what it stands for. */
export interface Item {
  readonly message: ContextMessage
  /** True for what a person said: an exchange begins here. */
  readonly opens: boolean
  /** The stored count, if it shows stored messages unchanged; otherwise null. */
  readonly tokens: number | null
  /** How many messages of the path it stands for: none if it was made up, several where results are joined. */
  stands: number
  /** The last of them, by its place in the path; of a made-up one, the message it belongs to. */
  last: number
}

const emptyQuestion: readonly Block[] = [{ type: 'text', text: '[empty message]' }]
const besideResult: TextBlock = { type: 'text', text: '[given with the result of a tool]' }

/** A path as a provider takes it. See `repair`, which shows it without the bookkeeping. */
export function viewOf(path: readonly Message[]): readonly Item[] {
  const shown = show(path)
  const pairs = pairUp(shown)
  const items: Item[] = []
  const build = builder(shown, pairs, items)
  // What is said by the system before the first question is part of the beginning, whatever stands before it.
  for (let at = 0; at < shown.length && shown[at]!.exchange === 0; at++) {
    if (shown[at]!.message.role === 'system') build.system(at)
  }
  for (let at = 0; at < shown.length; at++) {
    const { message, exchange } = shown[at]!
    if (message.role === 'assistant') build.assistant(at)
    else if (message.role !== 'system') build.said(at)
    else if (exchange > 0) build.note(at)
  }
  return items
}

function show(path: readonly Message[]): readonly Shown[] {
  let exchange = 0
  return path.map(message => {
    const blocks = sendableBlocks(message)
    const opens = message.role === 'user' && (blocks.length === 0 || blocks.some(isSaid))
    if (opens) exchange++
    return { message, blocks, opens, exchange }
  })
}

interface Builder {
  system(at: number): void
  note(at: number): void
  said(at: number): void
  assistant(at: number): void
}

function builder(path: readonly Shown[], { calls, claims }: Pairs, items: Item[]): Builder {
  const newest = path.at(-1)?.exchange ?? 0
  const counted = new Uint8Array(path.length)
  const reasonOf = missingReasons(path)
  let waiting = 0

  const put = (at: number, blocks: readonly Block[], role: ContextMessage['role'], opens = false): void => {
    const { message } = path[at]!
    const tokens = blocks === message.blocks && message.erased === null ? message.tokens : null
    items.push({
      message: { role, blocks, id: message.id },
      opens,
      tokens,
      stands: count(at) + waiting,
      last: at,
    })
    waiting = 0
  }
  const count = (at: number): number => {
    if (counted[at] === 1) return 0
    counted[at] = 1
    return 1
  }
  /** A message that shows nothing goes where its neighbour goes. */
  const skip = (at: number): void => {
    const before = items.at(-1)
    if (!before) waiting += count(at)
    else {
      before.stands += count(at)
      before.last = Math.max(before.last, at)
    }
  }
  const results = (at: number, made: readonly Call[]): void => {
    const joined = joinResults(path, made, reasonOf)
    let stands = 0
    let last = at
    for (const source of joined.sources) {
      stands += count(source)
      last = Math.max(last, source)
    }
    const first = joined.sources[0]
    const id = first === undefined ? {} : { id: path[first]!.message.id }
    items.push({
      message: { role: 'tool_result', blocks: joined.blocks, ...id },
      opens: false,
      tokens: joined.tokens,
      stands,
      last,
    })
  }

  return {
    system(at) {
      const texts = path[at]!.blocks.filter(block => block.type === 'text')
      if (texts.length > 0)
        put(at, texts.length === path[at]!.blocks.length ? path[at]!.blocks : texts, 'system')
      else skip(at)
    },
    note(at) {
      const texts = path[at]!.blocks.filter(block => block.type === 'text')
      if (texts.length > 0) put(at, [{ type: 'text', text: '[system note]' }, ...texts], 'user')
      else skip(at)
    },
    said(at) {
      const { message, blocks, opens } = path[at]!
      const claimed = claims.get(at)
      if (message.role === 'user' && opens && !claimed) {
        put(at, blocks.length > 0 ? blocks : emptyQuestion, 'user', true)
        return
      }
      const rest = withoutClaimed(blocks, claimed ?? [])
      if (rest.length === 0) skip(at)
      else if (message.role === 'user') put(at, rest, 'user', opens)
      else put(at, blocks.some(isSaid) ? [besideResult, ...rest] : rest, 'user')
    },
    assistant(at) {
      const { blocks, exchange } = path[at]!
      const made = calls.get(at) ?? []
      const kept = exchange === newest && made.length > 0 ? blocks : withoutLooseThinking(blocks)
      const before = items.length
      let used = 0
      for (const segment of splitAtResults(kept)) {
        const inSegment = made.slice(used, used + segment.filter(isCall).length)
        used += inSegment.length
        put(at, renamed(segment, inSegment), 'assistant')
        if (inSegment.length > 0) results(at, inSegment)
      }
      const alone = withoutClaimed(blocks.filter(isResult), claims.get(at) ?? [])
      if (alone.length > 0) put(at, alone, 'user')
      if (items.length === before) skip(at)
    },
  }
}

/** Thinking that no provider can check goes back only with the calls of the exchange in progress, where some
 *  (DeepSeek) want it. Anthropic and OpenAI take it only with their own signature or id, which is metadata. */
function withoutLooseThinking(blocks: readonly Block[]): readonly Block[] {
  const isLoose = (block: Block) => block.type === 'thinking' && block.metadata === undefined
  return blocks.some(isLoose) ? blocks.filter(block => !isLoose(block)) : blocks
}

/** Splits an answer that holds results of its own calls behind each run of them, and takes them out. */
function splitAtResults(blocks: readonly Block[]): readonly (readonly Block[])[] {
  if (!blocks.some(isResult)) return blocks.length > 0 ? [blocks] : []
  const segments: Block[][] = [[]]
  blocks.forEach((block, i) => {
    if (isResult(block)) return
    const previous = blocks[i - 1]
    if (previous && isResult(previous) && segments.at(-1)!.length > 0) segments.push([])
    segments.at(-1)!.push(block)
  })
  for (const segment of segments) while (segment.at(-1)?.type === 'thinking') segment.pop()
  return segments.filter(segment => segment.length > 0)
}

function renamed(blocks: readonly Block[], made: readonly Call[]): readonly Block[] {
  if (made.every(call => call.id === call.block.callId)) return blocks
  let next = 0
  return blocks.map(block => (isCall(block) ? { ...block, callId: made[next++]!.id } : block))
}

/** Results that no call claims are told as text: a provider refuses a result without its call. */
function withoutClaimed(blocks: readonly Block[], claimed: readonly boolean[]): readonly Block[] {
  let next = 0
  return blocks.flatMap(block => {
    if (!isResult(block)) return [block]
    return claimed[next++] ? [] : [loneResult(block)]
  })
}

function loneResult({ name, output }: ToolResultBlock): Block {
  const words = typeof output === 'string' ? output : JSON.stringify(output)
  const tool = name === undefined ? '' : ` of ${name.toWellFormed()}`
  return { type: 'text', text: `[result${tool}, whose call is not in the conversation]\n${words}` }
}

interface Joined {
  readonly blocks: readonly Block[]
  readonly sources: readonly number[]
  readonly tokens: number | null
}

/** The results of one answer's calls in the order of the calls, from wherever they were stored. */
function joinResults(
  path: readonly Shown[],
  made: readonly Call[],
  reasonOf: (call: Call) => MissingReason,
): Joined {
  const unchanged = new Map<number, number>()
  const blocks = made.map(call => {
    const { answer } = call
    if (!answer) return missingResult(call, reasonOf(call))
    const same = answer.block.callId === call.id
    unchanged.set(answer.at, (unchanged.get(answer.at) ?? 0) + (same ? 1 : 0))
    return same ? answer.block : { ...answer.block, callId: call.id }
  })
  let tokens = 0
  let allStored = made.every(call => call.answer !== null)
  for (const [at, number] of unchanged) {
    const { message } = path[at]!
    tokens += message.tokens
    if (message.blocks.length !== number || path[at]!.blocks !== message.blocks) allStored = false
  }
  return { blocks, sources: [...unchanged.keys()].sort((a, b) => a - b), tokens: allStored ? tokens : null }
}
