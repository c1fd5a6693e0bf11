import type { Block, ToolResultBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'
import { estimateTokens } from '../core/tokens.ts'

/** Shows a large tool result to the model by its beginning, and how to read on. The stored message is whole. */
export type Shown = (message: Message) => Message

/** `most` is the number of characters from which on a result is large. */
export function createShown(most: number): Shown {
  const known = new WeakMap<Message, Message>()
  return message => {
    if (message.role !== 'tool_result') return message
    const before = known.get(message)
    if (before) return before
    const shown = shorten(message, most)
    known.set(message, shown)
    return shown
  }
}

function shorten(message: Message, most: number): Message {
  let changed = false
  const blocks = message.blocks.map((block, i): Block => {
    if (block.type !== 'tool_result') return block
    const result = block as ToolResultBlock
    const text = resultText(result)
    const missing = message.blobs.some(ref => !ref.whole && ref.pointer.startsWith(`/blocks/${i}/output`))
    if (text.length <= most && !missing) return block
    changed = true
    return { ...result, output: preview(result.callId, text, most, missing) }
  })
  return changed ? { ...message, blocks, tokens: estimateTokens(blocks) } : message
}

/** A result as text: what `read_result` counts its offsets in. */
export function resultText(block: ToolResultBlock): string {
  return typeof block.output === 'string' ? block.output : JSON.stringify(block.output, null, 1)
}

function preview(callId: string, text: string, most: number, missing: boolean): string {
  const beginning = whole(text.slice(0, most))
  const size = missing ? 'this is only the beginning' : `${text.length} characters in all`
  return `${beginning}\n\n[${size}: read_result with call_id ${JSON.stringify(callId)} and offset ${beginning.length} reads on]`
}

/** Without half of a character at the end. */
function whole(text: string): string {
  return text.isWellFormed() ? text : text.slice(0, -1)
}
