import { type Block, isMedia } from '../../core/block.ts'
import type { NewMessage } from '../../core/message.ts'
import { estimateTokens } from '../../core/tokens.ts'
import { blockFromContent } from './content.ts'

/** Converts a prompt to a message. Plain text is stored as such, like text that was typed in a terminal. */
export function messageFromPrompt(prompt: readonly unknown[]): NewMessage {
  const blocks = prompt.map(blockFromContent)
  const [first] = blocks
  const isPlain = blocks.length === 1 && first?.type === 'text' && Object.keys(first).length === 2
  if (isPlain) return { role: 'user', content: String(first.text) }
  return { role: 'user', content: blocks, tokens: tokensOf(blocks) }
}

/** The model gets a text file as text, so its tokens are counted as text. */
function tokensOf(blocks: readonly Block[]): number {
  let sum = 0
  for (const block of blocks) {
    const isText = isMedia(block) && block.metadata?.inline === true
    sum += isText ? Math.ceil(((block.data?.length ?? 0) * 3) / 16) : estimateTokens([block])
  }
  return sum
}
