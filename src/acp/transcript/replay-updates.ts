import { isCall, isResult, type PairedCall, pairUp } from '../../context/view/pairs.ts'
import { type Block, isKnown } from '../../core/block.ts'
import type { MessageId } from '../../core/ids.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { itemsOf } from '../../core/pages.ts'
import type { MessageReader } from '../../core/ports.ts'
import { callUpdates, loneResultUpdate, type TerminalKey } from './call-update.ts'
import { contentFromBlock } from './content.ts'

/** The fewest messages that are replayed together, unless a question follows. */
const fewestTogether = 200

/** The most messages to hold for the result of a call. Interrupted calls never get one. */
const mostHeld = 1_000

/** A replay, message by message. */
export interface Replay {
  /** The updates that can be sent now: those of earlier messages, and none while a call has no result. */
  add(message: Message): readonly JsonObject[]
  /** The updates of the messages that are still held. */
  end(): readonly JsonObject[]
}

/** The `update` objects that `session/load` replays for messages, in order. A call and its result are one
 *  update, unless the client shows its output in a terminal (`terminalKey`). System messages are omitted. An
 *  erased message is replayed as erased. */
export function createReplay(terminalKey: TerminalKey = null): Replay {
  const idOf = uniqueIds()
  const open = openCalls()
  let held: Message[] = []

  function end(): readonly JsonObject[] {
    const updates = updatesOf(held, idOf, terminalKey)
    held = []
    open.clear()
    return updates
  }

  return {
    add(message) {
      const opens = message.role === 'user'
      const isWhole = open.isEmpty && (opens || held.length >= fewestTogether)
      const updates = isWhole || (opens && held.length >= mostHeld) ? end() : []
      held.push(message)
      open.see(message)
      return updates
    },
    end,
  }
}

/** Messages of a page of the replay. Smaller pages show the first line sooner and need less memory. */
const replayPage = 20

/** Replays the path that ends here. Reads on as the caller takes the updates. */
export function replayPath(
  store: Pick<MessageReader, 'listPath'>,
  head: MessageId,
  terminalKey: TerminalKey,
): AsyncGenerator<JsonObject, void> {
  const messages = itemsOf(page => store.listPath(head, { ...page, limit: replayPage }))
  return replayUpdates(messages, terminalKey)
}

/** Replays the messages of a path as they are read. */
export async function* replayUpdates(
  messages: AsyncIterable<Message>,
  terminalKey: TerminalKey = null,
): AsyncGenerator<JsonObject, void> {
  const replay = createReplay(terminalKey)
  for await (const message of messages) yield* replay.add(message)
  yield* replay.end()
}

/** The calls without a result, and results that came before their call. */
function openCalls() {
  const missing = new Map<string, number>()
  const add = (id: string, count: number) => {
    const sum = (missing.get(id) ?? 0) + count
    if (sum === 0) missing.delete(id)
    else missing.set(id, sum)
  }
  return {
    get isEmpty() {
      return missing.size === 0
    },
    see({ content }: Message): void {
      for (const block of content) {
        if (isCall(block)) add(block.callId, 1)
        else if (isResult(block)) add(block.callId, -1)
      }
    },
    clear: () => missing.clear(),
  }
}

/** The ids of calls in a replay: the stored one, unless an earlier call has the same. */
function uniqueIds(): (stored: string) => string {
  const used = new Set<string>()
  const counts = new Map<string, number>()
  return stored => {
    let id = stored
    let n = counts.get(stored) ?? 1
    while (used.has(id)) id = `${stored}-${++n}`
    counts.set(stored, n)
    used.add(id)
    return id
  }
}

function updatesOf(
  messages: readonly Message[],
  idOf: (stored: string) => string,
  terminalKey: TerminalKey,
): readonly JsonObject[] {
  const { calls, claims } = pairUp(inExchanges(messages))
  return messages.flatMap((message, at) => {
    if (message.role === 'system') return []
    if (message.erased)
      return message.role === 'tool_result' ? [] : [chunk(message, { type: 'text', text: '[erased]' })]
    const made = [...(calls[at] ?? [])]
    const claimed = [...(claims[at] ?? [])]
    return message.content.flatMap(block => {
      if (!isKnown(block)) return pieceOf(message, block)
      switch (block.type) {
        case 'tool_call': {
          const call = made.shift()
          if (!call) return []
          const result = call.result?.block ?? null
          const id = idOf(call.block.callId)
          return callUpdates(call.block, id, result, isErased(messages, call), terminalKey)
        }
        case 'tool_result':
          return claimed.shift() ? [] : [loneResultUpdate(block)]
        default:
          return pieceOf(message, block)
      }
    })
  })
}

function pieceOf(message: Message, block: Block): readonly JsonObject[] {
  if (block.type === 'thinking')
    return [chunk(message, { type: 'text', text: block.text }, 'agent_thought_chunk')]
  const content = contentFromBlock(block)
  return content ? [chunk(message, content)] : []
}

function chunk(message: Message, content: JsonObject, name = chunkNames[message.role]): JsonObject {
  return { sessionUpdate: name, content, messageId: message.id }
}

const chunkNames: Record<Message['role'], string> = {
  user: 'user_message_chunk',
  assistant: 'agent_message_chunk',
  tool_result: 'agent_message_chunk',
  system: 'agent_message_chunk',
}

function inExchanges(messages: readonly Message[]): Parameters<typeof pairUp>[0] {
  let exchange = 0
  return messages.map(message => {
    const opens = message.role === 'user'
    if (opens) exchange++
    return { message, blocks: message.content, opens, exchange }
  })
}

/** Whether the result of a call was erased: it existed, but its content is gone. */
function isErased(messages: readonly Message[], call: PairedCall): boolean {
  if (call.result) return false
  const after = messages.slice(call.at + 1)
  const end = after.findIndex(({ role }) => role !== 'tool_result')
  return after.slice(0, end === -1 ? undefined : end).some(({ erased }) => erased !== null)
}
