import { asBlocks, type Block, isKnown, isMedia, type MediaBlock, type NewBlock } from './block.ts'
import { outputParts } from './tool-output.ts'

/** The tokens of an image, a sound or a document of any size: providers scale them down to about this. */
export const mediaTokens = 1_000

/** The most tokens that a message, or one call of a model, can have. */
export const mostTokens = 2 ** 31 - 1

/** A number of tokens that another program reports. Undefined if it cannot be one: some servers report -1, or
 *  averages. A wrong count must not cost the answer that it belongs to. */
export function reportedTokens(value: unknown): number | undefined {
  if (typeof value !== 'number' || !(value >= 0 && value <= mostTokens)) return undefined
  return Math.round(value)
}

/** Whether a file of this type is text, which a model gets as text. */
export function isTextType(mime: string): boolean {
  return /^text\/|^application\/(json|xml|yaml|x-yaml|toml|javascript|typescript|x-sh|sql|[\w.-]+\+(json|xml))$/.test(
    mime.toLowerCase().replace(/;.*/s, '').trim(),
  )
}

/** Estimates tokens as characters / 4, rounded up. The text of a text file counts as text. An image, a sound,
 *  a video or another file counts 1,000 tokens, regardless of its size, because providers scale media to
 *  about that. Costs nothing, and is close in total. */
export function estimateTokens(blocks: string | readonly NewBlock[]): number {
  if (typeof blocks === 'string') return Math.ceil(blocks.length / 4)
  let characters = 0
  let media = 0
  for (const block of asBlocks(blocks)) {
    characters += countedText(block).length
    media += mediaIn(block)
  }
  return Math.ceil(characters / 4) + media * mediaTokens
}

/** The text of a block that is counted. Media have none, except for text files. */
export function countedText(block: Block): string {
  if (!isKnown(block)) return JSON.stringify(block)
  switch (block.type) {
    case 'text':
    case 'thinking':
      return block.text
    case 'tool_call':
      return block.name + asText(block.input)
    case 'tool_result': {
      const parts = outputParts(block)
      return parts ? parts.filter(part => typeof part === 'string').join('\n') : asText(block.output)
    }
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return isTextFile(block) ? Buffer.from(block.data, 'base64').toString() : ''
    default:
      return block satisfies never
  }
}

function isTextFile(block: MediaBlock): block is MediaBlock & { readonly data: string } {
  return block.data !== undefined && isTextType(block.mime)
}

/** How many images, sounds, videos and documents a block holds, including those in a tool result. */
export function mediaIn(block: Block): number {
  if (isMedia(block)) return isTextFile(block) ? 0 : 1
  if (block.type !== 'tool_result') return 0
  return outputParts(block)?.filter(part => typeof part !== 'string').length ?? 0
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
