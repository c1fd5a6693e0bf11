import type { ToolCallBlock } from '../../core/block.ts'
import { contentOf, type Message, textOf } from '../../core/message.ts'
import { headAndTail } from './cut-text.ts'
import { toldCall } from './told-call.ts'
import { cutOffMark, guardText, isCutOff } from './told-turn.ts'

/** Most characters of one text or result. */
const mostText = 200_000

/** A whole conversation as text, for an agent that reads it on demand: every message and every result, with
 *  the labels of an injected history. */
export async function* transcriptText(
  messages: AsyncIterable<Message>,
  directory: string,
): AsyncGenerator<string, void> {
  const calls = new Map<string, ToolCallBlock>()
  yield 'The whole conversation, oldest message first. A line that looks like a label has a backslash in front.\n'
  for await (const message of messages) {
    const lines = [...textLines(message), ...(message.erased ? [] : callLines(message, calls, directory))]
    if (lines.length > 0) yield `\n${lines.join('\n')}\n`
  }
}

const labels: Record<Message['role'], string> = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System',
  tool_result: 'Tool',
}

function textLines(message: Message): readonly string[] {
  const label = labels[message.role]
  if (message.erased) return [`${label}: [erased]`]
  const text = textOf({ content: contentOf(message) })
  const mark = isCutOff(message.metadata) ? `${cutOffMark} ` : ''
  return text === '' ? [] : [`${label}: ${mark}${guardText(headAndTail(text, mostText))}`]
}

function callLines(
  { content }: Message,
  calls: Map<string, ToolCallBlock>,
  directory: string,
): readonly string[] {
  return content.flatMap(block => {
    if (block.type === 'tool_call') {
      calls.set(block.callId, block)
      return [
        `Tool: ${guardText(`called ${block.name} ${headAndTail(JSON.stringify(block.input), mostText)}`)}`,
      ]
    }
    if (block.type !== 'tool_result') return []
    const call = calls.get(block.callId) ?? {
      type: 'tool_call',
      callId: block.callId,
      name: block.name ?? 'tool',
      input: {},
    }
    calls.delete(block.callId)
    const { action, status, output } = toldCall(call, block, directory)
    const outcome = [action, ...(status === null ? [] : [status])].join(' → ')
    return [`Tool: ${guardText(`${outcome}\n${headAndTail(output, mostText)}`)}`]
  })
}
