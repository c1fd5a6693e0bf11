import type { Block, ToolResultBlock } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { mediaIn, mediaTokens } from '../../core/tokens.ts'
import { outputParts } from '../../core/tool-output.ts'

/** What to shorten: results of tools; or texts, unsigned thinking and inputs of calls. */
export type CutTarget = 'results' | 'texts'

/** The length of a block in characters; 0 if it is not a target, or cannot be shortened. Media in a result
 *  count four characters per token. */
export function cuttableLength(block: Block, what: CutTarget): number {
  const words = cuttableWords(block, what)
  return words === null ? 0 : words.length + mediaIn(block) * mediaTokens * 4
}

/** The block with about `most` characters, with a marker in place of the rest. The metadata of a text (an id
 *  or a signature of the provider) is dropped, because it no longer matches. */
export function cutBlock(block: Block, most: number): Block {
  switch (block.type) {
    case 'tool_result':
      return { ...block, output: shortenMiddle(resultWords(block as ToolResultBlock), most) }
    case 'tool_call':
      return { ...block, input: cutInput(block.input as JsonObject, most) }
    case 'text':
    case 'thinking':
      return { type: block.type, text: shortenMiddle(block.text as string, most) }
    default:
      return block
  }
}

/** Keeps two thirds of `most` from the beginning and one third from the end, with a marker between them. */
export function shortenMiddle(text: string, most: number): string {
  if (text.length <= most) return text
  const room = Math.max(0, most - markerFor(text.length).length)
  let head = Math.ceil((room * 2) / 3)
  let tail = text.length - (room - head)
  if (isHigh(text.charCodeAt(head - 1))) head--
  if (isHigh(text.charCodeAt(tail - 1))) tail++
  return text.slice(0, head) + markerFor(tail - head) + text.slice(tail)
}

function markerFor(characters: number): string {
  return `\n[… ${characters} characters cut …]\n`
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function cuttableWords(block: Block, what: CutTarget): string | null {
  switch (block.type) {
    case 'tool_result':
      return what === 'results' ? resultWords(block as ToolResultBlock) : null
    case 'tool_call':
      return what === 'texts' ? JSON.stringify(block.input) : null
    case 'text':
      return what === 'texts' ? (block.text as string) : null
    case 'thinking':
      return what === 'texts' && block.metadata === undefined ? (block.text as string) : null
    default:
      return null
  }
}

/** Shortens long strings and keeps the shape. If the input is long for another reason, it becomes one
 *  text. */
function cutInput(input: JsonObject, most: number): JsonObject {
  const shorter = cutStrings(input, most) as JsonObject
  const words = JSON.stringify(shorter)
  return words.length <= 2 * most ? shorter : { cut: shortenMiddle(words, Math.ceil(most / 2)) }
}

function cutStrings(value: Json, most: number): Json {
  if (typeof value === 'string') return shortenMiddle(value, most)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(one => cutStrings(one, most))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cutStrings(one, most)]))
}

/** Media are replaced by their type: half of an image is useless. */
function resultWords(block: ToolResultBlock): string {
  if (typeof block.output === 'string') return block.output
  const parts = outputParts(block)
  if (!parts) return JSON.stringify(block.output)
  return parts.map(part => (typeof part === 'string' ? part : `[${part.type}: ${part.mime}]`)).join('\n')
}
