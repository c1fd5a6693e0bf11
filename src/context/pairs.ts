import type { Block, ToolCallBlock, ToolResultBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'

/** A stored message and the blocks of it that can be sent. */
export interface Shown {
  readonly message: Message
  readonly blocks: readonly Block[]
  /** True if a new exchange begins here: a person says something. */
  readonly opens: boolean
  /** Counts the exchanges; 0 lies before the first question. */
  readonly exchange: number
}

/** A tool call and the result that answers it. */
export interface Call {
  readonly block: ToolCallBlock
  /** Its id in the view: the stored one, unless an earlier call has it. */
  readonly id: string
  /** The message it stands in. */
  readonly at: number
  answer: Answer | null
}

interface Answer {
  readonly block: ToolResultBlock
  readonly at: number
}

/** The calls and results of a path, joined. Both by message, in the order of their blocks; nothing for a message
 *  that has none. */
export interface Pairs {
  readonly calls: readonly (readonly Call[] | undefined)[]
  /** For each result of a message, whether a call claims it. */
  readonly claims: readonly (readonly boolean[] | undefined)[]
}

interface Early extends Answer {
  readonly claims: boolean[]
  readonly index: number
}

/** Finds the call for each result. Ids may recur: a result belongs to the newest message before it that has an
 *  unanswered call of this id, and there to the first such call. What finds none may belong to a call that
 *  follows it in the same exchange; otherwise it stays alone, and so does a second result of one call. */
export function pairUp(path: readonly Shown[]): Pairs {
  const calls: (Call[] | undefined)[] = new Array(path.length)
  const claims: (boolean[] | undefined)[] = new Array(path.length)
  const open = openCalls()
  const early = new Map<string, Early[]>()
  for (let at = 0; at < path.length; at++) {
    const { message, blocks } = path[at]!
    if (message.role === 'system' || !blocks.some(isTools)) continue
    const made: Call[] = []
    const claimed: boolean[] = []
    for (const block of blocks) {
      if (isCall(block)) made.push(open.add(block, at))
      else if (isResult(block)) {
        const call = open.take(block.callId)
        if (call) call.answer = { block, at }
        else enter(early, block.callId, { block, at, claims: claimed, index: claimed.length })
        claimed.push(call !== undefined)
      }
    }
    if (made.length > 0) calls[at] = made
    if (claimed.length > 0) claims[at] = claimed
  }
  if (early.size > 0) claimEarly(path, calls, early)
  return { calls, claims }
}

/** The calls that wait for a result, by their stored ids. */
function openCalls() {
  // An id stays when its calls are answered: the next call of this id needs another one.
  const waiting = new Map<string, Call[]>()
  const counts = new Map<string, number>()
  function freeId(id: string): string {
    let n = counts.get(id) ?? 1
    let free: string
    do free = `${id}-${++n}`
    while (waiting.has(free))
    counts.set(id, n)
    waiting.set(free, [])
    return free
  }
  return {
    add(block: ToolCallBlock, at: number): Call {
      const same = waiting.get(block.callId)
      const call: Call = { block, id: same ? freeId(block.callId) : block.callId, at, answer: null }
      if (same) same.push(call)
      else waiting.set(block.callId, [call])
      return call
    },
    /** The first of the newest message that has one. */
    take(id: string): Call | undefined {
      const calls = waiting.get(id)
      if (!calls || calls.length < 2) return calls?.pop()
      let first = calls.length - 1
      while (first > 0 && calls[first - 1]!.at === calls[first]!.at) first--
      return calls.splice(first, 1)[0]
    },
  }
}

function claimEarly(
  path: readonly Shown[],
  calls: readonly (readonly Call[] | undefined)[],
  early: ReadonlyMap<string, readonly Early[]>,
): void {
  for (const call of calls.flatMap(made => made ?? [])) {
    if (call.answer) continue
    const found = early
      .get(call.block.callId)
      ?.find(
        ({ at, claims, index }) =>
          !claims[index] && at < call.at && path[at]!.exchange === path[call.at]!.exchange,
      )
    if (!found) continue
    call.answer = found
    found.claims[found.index] = true
  }
}

function enter<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

function isTools(block: Block): boolean {
  return isCall(block) || isResult(block)
}

export function isCall(block: Block): block is ToolCallBlock {
  return block.type === 'tool_call'
}

export function isResult(block: Block): block is ToolResultBlock {
  return block.type === 'tool_result'
}
