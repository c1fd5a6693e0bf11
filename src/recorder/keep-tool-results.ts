import { isKnown, type NewBlock, type ToolResultBlock } from '../core/block.ts'
import type { ToolResultPolicy } from '../core/conversation.ts'
import type { JsonObject } from '../core/json.ts'
import type { NewMessage } from '../core/message.ts'

/** Whether a message has tool results, to which the policy applies. */
export function hasToolResults(message: NewMessage): boolean {
  return typeof message.content !== 'string' && message.content.some(block => block.type === 'tool_result')
}

/** Applies the conversation's policy to the tool results of a message: kept in full, truncated, or only their
 *  size. `metadata.kept` of the block says what was left out. */
export function keepToolResults(message: NewMessage, policy: ToolResultPolicy): NewMessage {
  if (policy === 'full' || typeof message.content === 'string' || !hasToolResults(message)) return message
  return { ...message, content: message.content.map(block => keepBlock(block, policy)) }
}

function keepBlock(block: NewBlock, policy: Exclude<ToolResultPolicy, 'full'>): NewBlock {
  if (!isKnown(block) || block.type !== 'tool_result') return block
  const text = typeof block.output === 'string' ? block.output : JSON.stringify(block.output)
  if (policy === 'metadata') {
    const output = `[not kept: ${text.length} characters]`
    return noted(block, output, { policy: 'metadata', characters: text.length })
  }
  if (text.length <= policy.truncate) return block
  const beginning = cut(text, policy.truncate)
  const output = `${beginning}\n[cut: ${text.length - beginning.length} more characters]`
  return noted(block, output, { policy: 'truncate', characters: text.length, kept: beginning.length })
}

/** Also drops `metadata.acp`, in which an agent of another program repeats the output. */
function noted(block: ToolResultBlock, output: string, kept: JsonObject): ToolResultBlock {
  const { acp: _, ...metadata } = block.metadata ?? {}
  return { ...block, output, metadata: { ...metadata, kept } }
}

/** Cuts one unit earlier if the cut would split a surrogate pair. */
function cut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}
