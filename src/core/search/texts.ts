import { type Block, isKnown } from '../block.ts'
import type { Json } from '../json.ts'
import { mostSearchedBytes } from './clip.ts'
import { fileText } from './file-text.ts'

/** The searchable texts of a message, one for each block: text, thinking, tool inputs and outputs, and
 *  attached text files. */
export function textsOf(blocks: readonly Block[]): string[] {
  const texts: string[] = []
  for (const block of blocks) {
    const text = textIn(block)
    if (text !== '') texts.push(text)
  }
  return texts
}

function textIn(block: Block): string {
  if (!isKnown(block)) return stringsIn(block)
  switch (block.type) {
    case 'text':
    case 'thinking':
      return block.text
    case 'tool_call':
      return `${block.name}\n${stringsIn(block.input)}`
    case 'tool_result':
      return stringsIn(block.output)
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return [block.name, block.url, fileText(block)].filter(Boolean).join('\n')
    default:
      return block satisfies never
  }
}

/** The strings, numbers and keys of a JSON value, one per line, as far as they are searched. In JSON text
 *  itself, escapes would become part of the words. */
function stringsIn(value: Json): string {
  if (typeof value === 'string') return value
  const lines: string[] = []
  let length = 0
  const waiting: Json[] = [value]
  // One push each: the arguments of a call are on the stack, which has no room for a long list.
  while (waiting.length > 0 && length <= mostSearchedBytes) {
    const next = waiting.pop()!
    if (typeof next === 'string' || typeof next === 'number') {
      const line = String(next)
      length += line.length + 1
      lines.push(line)
    } else if (Array.isArray(next)) for (let i = next.length - 1; i >= 0; i--) waiting.push(next[i]!)
    else if (typeof next === 'object' && next !== null) {
      for (const [key, member] of Object.entries(next).reverse()) waiting.push(member, key)
    }
  }
  return lines.join('\n')
}
