import type { Block, ToolResultBlock } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { mediaIn, mediaTokens } from '../core/tokens.ts'
import { outputParts } from '../core/tool-output.ts'

/** What may be cut: results of tools; or texts, unsigned thinking and what calls were given. */
export type Cuttable = 'results' | 'texts'

/** Characters of a block that could be cut; 0 if it is of the other kind, or cannot be cut. Media that a tool gave
 *  count as the characters that their tokens would have. */
export function cuttableLength(block: Block, what: Cuttable): number {
  const words = cuttableWords(block, what)
  return words === null ? 0 : words.length + mediaIn(block) * mediaTokens * 4
}

/** The block with at most about this many characters, the rest replaced by a marker. What a provider keeps under
 *  an id or a signature of a text goes with it, because it is no longer that text. */
export function cutBlock(block: Block, most: number): Block {
  switch (block.type) {
    case 'tool_result':
      return { ...block, output: cutText(resultWords(block as ToolResultBlock), most) }
    case 'tool_call':
      return { ...block, input: cutInput(block.input as JsonObject, most) }
    case 'text':
    case 'thinking':
      return { type: block.type, text: cutText(block.text as string, most) }
    default:
      return block
  }
}

/** Two thirds of what is left from the beginning, one from the end, and between them how much is missing. */
export function cutText(text: string, most: number): string {
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

function cuttableWords(block: Block, what: Cuttable): string | null {
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

/** Long texts in it are cut, its shape stays; if it is long for another reason, it becomes one text. */
function cutInput(input: JsonObject, most: number): JsonObject {
  const shorter = cutStrings(input, most) as JsonObject
  const words = JSON.stringify(shorter)
  return words.length <= 2 * most ? shorter : { cut: cutText(words, Math.ceil(most / 2)) }
}

function cutStrings(value: Json, most: number): Json {
  if (typeof value === 'string') return cutText(value, most)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(one => cutStrings(one, most))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cutStrings(one, most)]))
}

/** Media among it are named: half of one is none. */
function resultWords(block: ToolResultBlock): string {
  if (typeof block.output === 'string') return block.output
  const parts = outputParts(block)
  if (!parts) return JSON.stringify(block.output)
  return parts.map(part => (typeof part === 'string' ? part : `[${part.type}: ${part.mime}]`)).join('\n')
}
