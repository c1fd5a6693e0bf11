import type { CountTokens } from '../../context/fit/window.ts'
import type { Block, ToolResultBlock } from '../../core/block.ts'
import type { Message } from '../../core/message.ts'
import type { MessageReader } from '../../core/ports.ts'
import { estimateTokens } from '../../core/tokens.ts'
import { outputParts } from '../../core/tool-output.ts'
import { ownTool, textField, wholeField } from './own-tool.ts'
import type { AgentTool } from './tool.ts'

/** Returns a message with its large tool results shortened to their beginning and a hint how to read the
 *  rest. The stored message is not changed. */
export type ShortenResults = (message: Message) => Message

/** Makes a function that shortens results of more than `most` characters. */
export function shortenToolResults(most: number, count: CountTokens = estimateTokens): ShortenResults {
  const known = new WeakMap<Message, Message>()
  return message => {
    if (message.role !== 'tool_result') return message
    const before = known.get(message)
    if (before) return before
    const shortened = shorten(message, most, count)
    known.set(message, shortened)
    return shortened
  }
}

function shorten(message: Message, most: number, count: CountTokens): Message {
  let changed = false
  const blocks = message.content.map((block, i): Block => {
    if (block.type !== 'tool_result') return block
    const result = block as ToolResultBlock
    const text = resultText(result)
    const cut = message.blobs.find(ref => !ref.whole && ref.pointer.startsWith(`/blocks/${i}/output`))
    // A result with images is not text: the length of its base64 does not count, and it is sent as it is.
    if ((text.length <= most && !cut) || (!cut && outputParts(result) !== null)) return block
    changed = true
    const beginning = wholeCharacters(text.slice(0, most))
    // In a result with several parts, the end of the shown text is not an offset: read it from its beginning.
    const offset = cut && cut.pointer !== `/blocks/${i}/output` ? 0 : beginning.length
    const size = cut ? 'only the beginning is shown' : `${text.length} characters in all`
    const hint = `read_result with call_id ${JSON.stringify(result.callId)} and offset ${offset} reads on`
    return { ...result, output: `${beginning}\n\n[${size}: ${hint}]` }
  })
  return changed ? { ...message, content: blocks, tokens: count(blocks) } : message
}

/** A result as text. The offsets of `read_result` count its characters. */
function resultText(block: ToolResultBlock): string {
  return typeof block.output === 'string' ? block.output : JSON.stringify(block.output)
}

/** Drops half of a surrogate pair at the end. */
function wholeCharacters(text: string): string {
  return text.isWellFormed() ? text : text.slice(0, -1)
}

/** The tool that reads the rest of a shortened result. Without a reader it reads the agent's messages in
 *  memory. */
export function readResult(reader: Pick<MessageReader, 'getMessages'> | null, most: number): AgentTool {
  return ownTool({
    description:
      'Reads a part of an earlier tool result that was too large to be shown whole. Give the call_id that the shortened result names.',
    input: {
      call_id: textField(),
      offset: wholeField(0, { min: 0, about: 'The character to begin at' }),
      length: wholeField(most, { min: 1, max: most, about: 'How many characters to read' }),
    },
    repeatable: true,
    readOnly: true,
    async run({ call_id, offset, length }, { messages }) {
      const message = messages.findLast(one => resultOf(one, call_id) !== undefined)
      if (!message) throw new Error(`there is no result of a call ${JSON.stringify(call_id)} in sight`)
      const text = resultText(resultOf(await wholeMessage(message, reader), call_id)!)
      const part = text.slice(offset, offset + length)
      const rest = text.length - offset - part.length
      return rest > 0 ? `${part}\n\n[${rest} more characters from offset ${offset + part.length}]` : part
    },
  })
}

function resultOf(message: Message, callId: string): ToolResultBlock | undefined {
  return message.content.find(
    (block): block is ToolResultBlock => block.type === 'tool_result' && block.callId === callId,
  )
}

async function wholeMessage(
  message: Message,
  reader: Pick<MessageReader, 'getMessages'> | null,
): Promise<Message> {
  if (reader === null || message.blobs.every(ref => ref.whole)) return message
  const [whole] = await reader.getMessages([message.id])
  return whole!
}
