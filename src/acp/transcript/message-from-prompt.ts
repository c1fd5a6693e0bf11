import { fence } from '../../context/text/guard-lines.ts'
import { type NewMessage, textOf } from '../../core/message.ts'
import { titleFrom } from '../../core/title.ts'
import { isObject } from '../wire/is-object.ts'
import { blockFromContent } from './content.ts'

/** Converts a prompt to a message. Plain text is stored as such, like text that was typed in a terminal. */
export function messageFromPrompt(prompt: readonly unknown[]): NewMessage {
  const blocks = prompt.map(blockFromContent)
  const [first] = blocks
  const isPlain = blocks.length === 1 && first?.type === 'text' && Object.keys(first).length === 2
  if (isPlain) return { role: 'user', content: String(first.text) }
  return { role: 'user', content: blocks }
}

/** The title of a conversation whose first prompt begins with a history that another host tells: from the
 *  rest of the prompt. Null for any other prompt, which gives the title itself. */
export function titleAfterHistory(prompt: readonly unknown[]): string | null {
  const rest = prompt.filter(
    block => !(isObject(block) && block.type === 'text' && String(block.text).startsWith(`<${fence}>`)),
  )
  const isTold = rest.length > 0 && rest.length < prompt.length
  return isTold ? titleFrom(textOf(messageFromPrompt(rest))) : null
}
