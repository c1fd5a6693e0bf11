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
  /** Its id in the view: the stored one, unless it is taken or no provider would have it. */
  readonly id: string
  /** The message it stands in. */
  readonly at: number
  answer: Answer | null
}

interface Answer {
  readonly block: ToolResultBlock
  readonly at: number
}

/** The calls and results of a path, joined. Both by message, in the order of their blocks. */
export interface Pairs {
  readonly calls: ReadonlyMap<number, readonly Call[]>
  /** For each result of a message, whether a call claims it. */
  readonly claims: ReadonlyMap<number, readonly boolean[]>
}

interface Open {
  readonly at: number
  readonly call: Call
}

interface Early {
  readonly answer: Answer
  readonly claims: boolean[]
  readonly index: number
}

/** Finds the call for each result. Ids may recur: a result belongs to the newest message before it that has an
 *  unanswered call of this id, and there to the first such call. What finds none may belong to a call that
 *  follows it in the same exchange; otherwise it stays alone, and so does a second result of one call. */
export function pairUp(path: readonly Shown[]): Pairs {
  const calls = new Map<number, Call[]>()
  const claims = new Map<number, boolean[]>()
  const open = new Map<string, Open[]>()
  const early = new Map<string, Early[]>()
  const freeId = idSource()
  for (let at = 0; at < path.length; at++) {
    const { message, blocks } = path[at]!
    if (message.role === 'system') continue
    for (const block of blocks) {
      if (isCall(block)) {
        const call: Call = { block, id: freeId(block.callId), at, answer: null }
        entry(calls, at).push(call)
        entry(open, block.callId).push({ at, call })
      } else if (isResult(block)) {
        const made = entry(claims, at)
        const call = takeNewest(open.get(block.callId))
        const answer = { block, at }
        if (call) call.answer = answer
        else entry(early, block.callId).push({ answer, claims: made, index: made.length })
        made.push(call !== undefined)
      }
    }
  }
  if (early.size > 0) claimEarly(path, calls, early)
  return { calls, claims }
}

function takeNewest(open: Open[] | undefined): Call | undefined {
  const newest = open?.at(-1)
  if (!open || !newest) return undefined
  let first = open.length - 1
  while (first > 0 && open[first - 1]!.at === newest.at) first--
  return open.splice(first, 1)[0]!.call
}

function claimEarly(
  path: readonly Shown[],
  calls: ReadonlyMap<number, readonly Call[]>,
  early: ReadonlyMap<string, readonly Early[]>,
): void {
  for (const call of [...calls.values()].flat()) {
    if (call.answer) continue
    const found = early
      .get(call.block.callId)
      ?.find(
        ({ answer, claims, index }) =>
          !claims[index] && answer.at < call.at && path[answer.at]!.exchange === path[call.at]!.exchange,
      )
    if (!found) continue
    call.answer = found.answer
    found.claims[found.index] = true
  }
}

/** What both Anthropic (letters, digits, `_`, `-`) and OpenAI (40 characters) take as the id of a call. */
const sendableId = /^[a-zA-Z0-9_-]{1,40}$/

/** Gives each call an id of its own: its own one where it can be sent and no earlier call has it. */
function idSource(): (id: string) => string {
  const taken = new Set<string>()
  const counts = new Map<string, number>()
  return id => {
    let free = id
    if (!sendableId.test(id) || taken.has(id)) {
      const base = id.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 28) || 'call'
      let n = counts.get(base) ?? 1
      do free = `${base}-${++n}`
      while (taken.has(free))
      counts.set(base, n)
    }
    taken.add(free)
    return free
  }
}

function entry<Key, T>(map: Map<Key, T[]>, key: Key): T[] {
  const list = map.get(key) ?? []
  if (list.length === 0) map.set(key, list)
  return list
}

export function isCall(block: Block): block is ToolCallBlock {
  return block.type === 'tool_call'
}

export function isResult(block: Block): block is ToolResultBlock {
  return block.type === 'tool_result'
}
