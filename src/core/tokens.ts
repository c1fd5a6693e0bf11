import { type Block, isKnown } from './block.ts'

/** What an image, a sound or a file counts, whatever its size: providers scale them down to about this. */
export const mediaTokens = 1_000

/** Tokens by the rule of thumb: characters / 4, rounded up. Close enough in total, and free. */
export function estimateTokens(blocks: string | readonly Block[]): number {
  if (typeof blocks === 'string') return Math.ceil(blocks.length / 4)
  let characters = 0
  let media = 0
  for (const block of blocks) {
    const count = charactersOf(block)
    if (count === null) media++
    else characters += count
  }
  return Math.ceil(characters / 4) + media * mediaTokens
}

/** Null for what is not text. */
function charactersOf(block: Block): number | null {
  if (!isKnown(block)) return JSON.stringify(block).length
  switch (block.type) {
    case 'text':
    case 'thinking':
      return block.text.length
    case 'tool_call':
      return block.name.length + jsonLength(block.input)
    case 'tool_result':
      return jsonLength(block.output)
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return null
    default:
      return block satisfies never
  }
}

function jsonLength(value: unknown): number {
  return typeof value === 'string' ? value.length : JSON.stringify(value).length
}
