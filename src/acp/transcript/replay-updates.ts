import { type PairedCall, pairUp } from '../../context/view/pairs.ts'
import { type Block, isKnown } from '../../core/block.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { callUpdate, loneResultUpdate } from './call-update.ts'
import { contentFromBlock } from './content.ts'

/** The `update` objects that `session/load` replays for these messages, in order. A call and its result are
 *  one update. System messages are omitted. An erased message is replayed as erased. */
export function replayUpdates(messages: readonly Message[]): readonly JsonObject[] {
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
          return call
            ? [callUpdate(call.block, call.id, call.result?.block ?? null, isErased(messages, call))]
            : []
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
