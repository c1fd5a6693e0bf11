import { isMedia, type MediaBlock, type ToolResultBlock } from './block.ts'
import { isPlainObject, type Json } from './json.ts'

/** The texts and media of a result that is a list of them, in our format or in MCP's (`mimeType`). Null for
 *  any other output, which is text or JSON. */
export function outputParts(block: ToolResultBlock): readonly (string | MediaBlock)[] | null {
  return block.metadata?.output === 'content' ? allPartsOf(block.output) : partsOf(block.output)
}

/** The texts and media of a list that holds nothing else and at least one of the media. Null for other
 *  outputs. */
function partsOf(output: Json): readonly (string | MediaBlock)[] | null {
  if (!Array.isArray(output)) return null
  const parts = output.map(partOf)
  if (!parts.some(part => part !== null && typeof part !== 'string')) return null
  return parts.every(part => part !== null) ? parts : null
}

/** The same for a list that was given as the parts of a result (`metadata.output`). An unknown part, such
 *  as a file kept by another provider, becomes JSON without turning the other parts into JSON. */
function allPartsOf(output: Json): readonly (string | MediaBlock)[] | null {
  if (!Array.isArray(output) || output.length === 0) return null
  return output.map(value => partOf(value) ?? JSON.stringify(value))
}

function partOf(value: Json): string | MediaBlock | null {
  if (!isPlainObject(value)) return null
  if (value.type === 'text' && typeof value.text === 'string') return value.text
  const mime = value.mime ?? value.mimeType
  if (!isMedia({ type: String(value.type) }) || typeof mime !== 'string') return null
  return { ...value, mime } as unknown as MediaBlock
}
