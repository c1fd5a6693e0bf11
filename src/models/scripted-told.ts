import type { TextBlock } from '../core/block.ts'
import type { ContextMessage } from '../core/model.ts'

/** A history that was told as one text, as agents of other programs are told it: see `asText`. One that is to be summed up
 *  has another opening, and stays a text. */
const history =
  /<conversation_history>\n.*\nYou should treat this as context you already know.*\n\n([\s\S]*?)\n<\/conversation_history>\s*/

/** The messages, with histories that stand in one as a text taken apart into what was said. Whoever is told a conversation
 *  should know it as if it had been there: that is what the text asks for. */
export function withTold(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  return messages.flatMap(message => {
    if (message.role !== 'user' && message.role !== 'system') return [message]
    const told: ContextMessage[] = []
    const blocks = message.blocks.flatMap(block => {
      if (block.type !== 'text') return [block]
      const { text } = block as TextBlock
      const lines = history.exec(text)?.[1]
      if (lines === undefined) return [block]
      told.push(...messagesIn(lines))
      const rest = text.replace(history, '')
      return rest === '' ? [] : [{ ...block, text: rest } as TextBlock]
    })
    return blocks.length === 0 ? told : [...told, { ...message, blocks }]
  })
}

function messagesIn(lines: string): readonly ContextMessage[] {
  return lines.split(/\n(?=(?:User|Assistant): )/).flatMap(line => {
    const [, who, text] = /^(User|Assistant): ([\s\S]*)$/.exec(line) ?? []
    if (text === undefined) return []
    return [{ role: who === 'User' ? 'user' : 'assistant', blocks: [{ type: 'text', text }] } as const]
  })
}
