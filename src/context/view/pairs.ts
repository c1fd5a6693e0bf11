import type { Block, ToolCallBlock, ToolResultBlock } from '../../core/block.ts'
import type { Message } from '../../core/message.ts'

/** A stored message, and those of its blocks that can be sent. */
export interface SendableMessage {
  readonly message: Message
  readonly blocks: readonly Block[]
  /** True if a new exchange begins here: a message of the user with text or media. */
  readonly opens: boolean
  /** The number of the exchange; 0 before the first question. */
  readonly exchange: number
}

/** A tool call and its result. */
export interface PairedCall {
  readonly block: ToolCallBlock
  /** Its id in the view: the stored one, unless an earlier call has the same. */
  readonly id: string
  /** The index of its message. */
  readonly at: number
  result: StoredResult | null
}

interface StoredResult {
  readonly block: ToolResultBlock
  readonly at: number
}

/** The calls and results of a path, paired. Both lists are by message, in the order of their blocks;
 *  undefined for a message without any. */
export interface Pairs {
  readonly calls: readonly (readonly PairedCall[] | undefined)[]
  /** For each result of a message, whether it belongs to a call. */
  readonly claims: readonly (readonly boolean[] | undefined)[]
}

interface EarlyResult extends StoredResult {
  readonly claims: boolean[]
  readonly index: number
}

/** Finds the call of each result. Ids may recur: a result belongs to the newest earlier message with an
 *  unanswered call of its id, and there to the first such call. A result without an earlier call may belong
 *  to a later call of the same exchange. Otherwise it stays alone, as does a second result of one call. */
export function pairUp(path: readonly SendableMessage[]): Pairs {
  const calls: (PairedCall[] | undefined)[] = new Array(path.length)
  const claims: (boolean[] | undefined)[] = new Array(path.length)
  const open = openCalls()
  const early = new Map<string, EarlyResult[]>()
  for (let at = 0; at < path.length; at++) {
    const { message, blocks } = path[at]!
    if (message.role === 'system' || !blocks.some(block => isCall(block) || isResult(block))) continue
    const made: PairedCall[] = []
    const claimed: boolean[] = []
    for (const block of blocks) {
      if (isCall(block)) made.push(open.add(block, at))
      else if (isResult(block)) {
        const call = open.take(block.callId)
        if (call) call.result = { block, at }
        else addTo(early, block.callId, { block, at, claims: claimed, index: claimed.length })
        claimed.push(call !== undefined)
      }
    }
    if (made.length > 0) calls[at] = made
    if (claimed.length > 0) claims[at] = claimed
  }
  if (early.size > 0) claimEarly(path, calls, early)
  return { calls, claims }
}

/** The calls without a result, by their stored ids. */
function openCalls() {
  // An id stays after its calls are answered: the next call with this id needs another one.
  const waiting = new Map<string, PairedCall[]>()
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
    add(block: ToolCallBlock, at: number): PairedCall {
      const same = waiting.get(block.callId)
      const call: PairedCall = { block, id: same ? freeId(block.callId) : block.callId, at, result: null }
      if (same) same.push(call)
      else waiting.set(block.callId, [call])
      return call
    },
    /** The first call with this id in the newest message that has one. */
    take(id: string): PairedCall | undefined {
      const calls = waiting.get(id)
      if (!calls || calls.length < 2) return calls?.pop()
      let first = calls.length - 1
      while (first > 0 && calls[first - 1]!.at === calls[first]!.at) first--
      return calls.splice(first, 1)[0]
    },
  }
}

function claimEarly(
  path: readonly SendableMessage[],
  calls: readonly (readonly PairedCall[] | undefined)[],
  early: ReadonlyMap<string, readonly EarlyResult[]>,
): void {
  for (const call of calls.flatMap(made => made ?? [])) {
    if (call.result) continue
    const found = early
      .get(call.block.callId)
      ?.find(
        ({ at, claims, index }) =>
          !claims[index] && at < call.at && path[at]!.exchange === path[call.at]!.exchange,
      )
    if (!found) continue
    call.result = found
    found.claims[found.index] = true
  }
}

function addTo<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

export function isCall(block: Block): block is ToolCallBlock {
  return block.type === 'tool_call'
}

export function isResult(block: Block): block is ToolResultBlock {
  return block.type === 'tool_result'
}

/** The results of one answer's calls. */
export interface JoinedResults {
  readonly blocks: readonly Block[]
  /** The indexes of the messages that they come from, in order. */
  readonly sources: readonly number[]
  /** The stored count, if the results are the whole content of those messages. */
  readonly tokens: number | null
}

/** The results of one answer's calls, in the order of the calls, wherever they are stored. Each has the id
 *  and the name of its call. `reasonOf` says why a call has no result. */
export function joinResults(
  path: readonly SendableMessage[],
  made: readonly PairedCall[],
  reasonOf: (call: PairedCall) => MissingReason,
): JoinedResults {
  const blocks: Block[] = []
  const sources: number[] = []
  let isStored = true
  for (const call of made) {
    const { result } = call
    if (!result) isStored = false
    else if (!sources.includes(result.at)) sources.push(result.at)
    blocks.push(result ? withCallOf(result.block, call) : missingResult(call, reasonOf(call)))
  }
  let tokens = 0
  let held = 0
  for (const at of sources) {
    const { message, blocks: sent } = path[at]!
    tokens += message.tokens
    held += sent.length
    if (sent !== message.content) isStored = false
  }
  return {
    blocks,
    sources: sources.sort((a, b) => a - b),
    tokens: isStored && held === blocks.length ? tokens : null,
  }
}

function withCallOf(result: ToolResultBlock, { id, block: { name } }: PairedCall): ToolResultBlock {
  return result.callId === id && result.name === name ? result : { ...result, callId: id, name }
}

/** A result without a call, as text. */
export function loneResult({ name, output }: ToolResultBlock): Block {
  const words = typeof output === 'string' ? output : JSON.stringify(output)
  const tool = name === undefined ? '' : ` of ${name.toWellFormed()}`
  return { type: 'text', text: `[result${tool}, whose call is not in the conversation]\n${words}` }
}

/** Why a call has no result. */
export type MissingReason = 'interrupted' | 'failed' | 'imported' | 'erased'

const missingTexts: Readonly<Record<MissingReason, string>> = {
  interrupted: '[no result: interrupted, outcome unknown]',
  failed: '[no result: the turn failed, outcome unknown]',
  imported: '[no result: imported without it]',
  erased: '[no result: erased]',
}

/** The synthetic result of a call without one, labelled with the reason. It is never stored. */
function missingResult(call: PairedCall, reason: MissingReason): ToolResultBlock {
  return {
    type: 'tool_result',
    callId: call.id,
    name: call.block.name,
    output: missingTexts[reason],
    isError: true,
    metadata: { skein: { synthetic: reason } },
  }
}

/** Why calls have no result: from the facts of the message with the call, otherwise from later messages of
 *  its exchange. Default: interrupted. */
export function missingReasons(path: readonly SendableMessage[]): (call: PairedCall) => MissingReason {
  const byExchange = new Map<number, MissingReason>()
  return call => {
    const own = reasonIn(path[call.at]!.message)
    if (own) return own
    const { exchange } = path[call.at]!
    const known = byExchange.get(exchange)
    if (known) return known
    let reason: MissingReason = 'interrupted'
    for (let i = call.at + 1; i < path.length && path[i]!.exchange === exchange; i++) {
      const { message } = path[i]!
      const found = message.erased && message.role === 'tool_result' ? 'erased' : reasonIn(message)
      if (found && found !== 'imported') reason = found
      if (found === 'erased') break
    }
    byExchange.set(exchange, reason)
    return reason
  }
}

function reasonIn({ metadata }: Message): MissingReason | null {
  if (!metadata) return null
  if (metadata.failed) return 'failed'
  if (metadata.interrupted) return 'interrupted'
  return metadata.imported ? 'imported' : null
}
