import { z } from 'zod'
import type { ToolResultBlock } from '../core/block.ts'
import type { Message } from '../core/message.ts'
import type { MessageReader } from '../core/ports.ts'
import { resultText } from './shown.ts'
import { type AgentTool, tool } from './tool.ts'

/** The tool that reads on in a result that was too large to be shown whole. Without a reader it knows what the
 *  agent has in memory. */
export function readResult(reader: Pick<MessageReader, 'getMessages'> | null, most: number): AgentTool {
  return tool({
    description:
      'Reads a part of an earlier tool result that was too large to be shown whole. Give the call_id that the shortened result names.',
    input: z.object({
      call_id: z.string(),
      offset: z.int().min(0).default(0).describe('The character to begin at'),
      length: z.int().min(1).max(most).default(most).describe('How many characters to read'),
    }),
    repeatable: true,
    async run({ call_id, offset, length }, { messages }) {
      const message = messages.findLast(one => resultOf(one, call_id) !== undefined)
      if (!message) throw new Error(`there is no result of a call ${JSON.stringify(call_id)} in sight`)
      const text = resultText(resultOf(await wholeOf(message, reader), call_id)!)
      const part = text.slice(offset, offset + length)
      const rest = text.length - offset - part.length
      return rest > 0 ? `${part}\n\n[${rest} more characters from offset ${offset + part.length}]` : part
    },
  })
}

function resultOf(message: Message, callId: string): ToolResultBlock | undefined {
  return message.blocks.find(
    (block): block is ToolResultBlock => block.type === 'tool_result' && block.callId === callId,
  )
}

async function wholeOf(
  message: Message,
  reader: Pick<MessageReader, 'getMessages'> | null,
): Promise<Message> {
  if (reader === null || message.blobs.every(ref => ref.whole)) return message
  const [whole] = await reader.getMessages([message.id])
  return whole!
}
