import type { NewMessage } from '../../core/message.ts'
import { blockFromContent } from './content.ts'

/** Converts a prompt to a message. Plain text is stored as such, like text that was typed in a terminal. */
export function messageFromPrompt(prompt: readonly unknown[]): NewMessage {
  const blocks = prompt.map(blockFromContent)
  const [first] = blocks
  const isPlain = blocks.length === 1 && first?.type === 'text' && Object.keys(first).length === 2
  if (isPlain) return { role: 'user', content: String(first.text) }
  return { role: 'user', content: blocks }
}
