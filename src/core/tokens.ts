import { type Block, isKnown } from './block.ts'

/** What an image, a sound or a file counts, whatever its size: providers scale them down to about this. */
export const mediaTokens = 1_000

/** Tokens by the rule of thumb: characters / 4, rounded up. Close enough in total, and free. */
export function estimateTokens(blocks: string | readonly Block[]): number {
  if (typeof blocks === 'string') return Math.ceil(blocks.length / 4)
  let characters = 0
  let media = 0
  for (const block of blocks) {
    const words = wordsOf(block)
    if (words === null) media++
    else characters += words.length
  }
  return Math.ceil(characters / 4) + media * mediaTokens
}

/** What a block counts by: its text, or null for what is not text. */
export function wordsOf(block: Block): string | null {
  if (!isKnown(block)) return JSON.stringify(block)
  switch (block.type) {
    case 'text':
    case 'thinking':
      return block.text
    case 'tool_call':
      return block.name + asText(block.input)
    case 'tool_result':
      return asText(block.output)
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return null
    default:
      return block satisfies never
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
