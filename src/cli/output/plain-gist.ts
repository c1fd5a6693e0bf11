import { gistOf } from '../../core/gist.ts'
import type { Message } from '../../core/message.ts'

/** A message in one line, as `gistOf`, and an answer without the marks of Markdown: they mean nothing in the
 *  middle of a line. */
export function plainGist(message: Pick<Message, 'content' | 'erased' | 'role'>): string {
  if (message.role !== 'assistant') return gistOf(message)
  const content = message.content.map(block =>
    block.type === 'text' ? { ...block, text: withoutMarks(String(block.text ?? '')) } : block,
  )
  return gistOf({ ...message, content } as typeof message)
}

/** A line shows only the beginning of a text. */
const most = 8_000

/** The beginning of a Markdown text without its marks. */
export function withoutMarks(text: string): string {
  return (
    text
      .slice(0, most)
      // Fences, rules, and the line below the head of a table.
      .replaceAll(/^[ \t]*(?:```|~~~).*$/gm, '')
      .replaceAll(/^[ \t]*[|:\s-]*-{3,}[|:\s-]*$/gm, '')
      .replaceAll(/^[ \t]*\|(.*)\|[ \t]*$/gm, (_, row: string) => row.split('|').join(' · '))
      .replaceAll(/^[ \t]*(?:#{1,6}|>)[ \t]+/gm, '')
      .replaceAll(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, '$2')
      .replaceAll(/(?<![\w*])([*_])(?=[^\s*_])([^*_\n]+?)(?<=\S)\1(?!\w)/g, '$2')
      .replaceAll(/`([^`\n]+)`/g, '$1')
      .replaceAll(/!?\[([^\]\n]+)\]\([^)\s]+\)/g, '$1')
  )
}
