import type { CountTokens } from '../context/fit/window.ts'
import type { Block, ToolResultBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'
import { estimateTokens } from '../core/tokens.ts'
import { outputParts } from '../core/tool-output.ts'

/** Shows a large tool result to the model by its beginning, and how to read on. The stored message is whole. */
export type Shown = (message: Message) => Message

/** `most` is the number of characters from which on a result is large. */
export function createShown(most: number, count: CountTokens = estimateTokens): Shown {
  const known = new WeakMap<Message, Message>()
  return message => {
    if (message.role !== 'tool_result') return message
    const before = known.get(message)
    if (before) return before
    const shown = shorten(message, most, count)
    known.set(message, shown)
    return shown
  }
}

function shorten(message: Message, most: number, count: CountTokens): Message {
  let changed = false
  const blocks = message.blocks.map((block, i): Block => {
    if (block.type !== 'tool_result') return block
    const result = block as ToolResultBlock
    const text = resultText(result)
    const cut = message.blobs.find(ref => !ref.whole && ref.pointer.startsWith(`/blocks/${i}/output`))
    // A list with pictures is no text, however long their base64: it is counted and sent as what it is.
    if ((text.length <= most && !cut) || (!cut && outputParts(result) !== null)) return block
    changed = true
    const beginning = wholeCharacters(text.slice(0, most))
    // Of a result with inner parts nobody knows where the shown text stops: it has to be read from its beginning.
    const offset = cut && cut.pointer !== `/blocks/${i}/output` ? 0 : beginning.length
    const size = cut ? 'only the beginning is shown' : `${text.length} characters in all`
    const hint = `read_result with call_id ${JSON.stringify(result.callId)} and offset ${offset} reads on`
    return { ...result, output: `${beginning}\n\n[${size}: ${hint}]` }
  })
  return changed ? { ...message, blocks, tokens: count(blocks) } : message
}

/** A result as text: what `read_result` counts its offsets in. */
export function resultText(block: ToolResultBlock): string {
  return typeof block.output === 'string' ? block.output : JSON.stringify(block.output)
}

/** Without half of a character at the end. */
function wholeCharacters(text: string): string {
  return text.isWellFormed() ? text : text.slice(0, -1)
}
