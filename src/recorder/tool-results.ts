import { type Block, isKnown, type ToolResultBlock } from '../core/block.ts'
import type { ToolResultPolicy } from '../core/conversation.ts'
import type { JsonObject } from '../core/json.ts'
import type { NewMessage } from '../core/message.ts'

/** Whether a message has results of tools in it, and so is a matter of the policy. */
export function hasToolResults(message: NewMessage): boolean {
  return typeof message.blocks !== 'string' && message.blocks.some(block => block.type === 'tool_result')
}

/** A message as the conversation wants it kept: its tool results whole, cut, or only noted. What is left out is
 *  said in the block itself, in `metadata.kept`. */
export function keepToolResults(message: NewMessage, policy: ToolResultPolicy): NewMessage {
  if (policy === 'full' || typeof message.blocks === 'string' || !hasToolResults(message)) return message
  return { ...message, blocks: message.blocks.map(block => keepBlock(block, policy)) }
}

function keepBlock(block: Block, policy: Exclude<ToolResultPolicy, 'full'>): Block {
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

/** What a foreign agent showed of the output would say it a second time, and is not kept either. */
function noted(block: ToolResultBlock, output: string, kept: JsonObject): ToolResultBlock {
  const { acp: _, ...metadata } = block.metadata ?? {}
  return { ...block, output, metadata: { ...metadata, kept } }
}

/** Steps back one unit where the cut would split a pair. */
function cut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}
