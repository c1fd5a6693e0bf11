import { type Block, isKnown, isMedia, type MediaBlock, type ToolCallBlock } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Message, Role } from '../core/message.ts'

/** What a message shows whose words were erased. */
const erasedText: readonly Block[] = [{ type: 'text', text: '[erased]' }]

/** The blocks of a stored message that a model can be given under its role: the same list if all of them can.
 *  - Text of white space alone is left out: providers refuse it. So are blocks of unknown types, thinking and
 *    calls of anybody but the assistant, and thinking at the end of a message, with nothing that it led to.
 *  - Media stand only in what the user said; elsewhere, or where only the beginning was read, a text names them.
 *  - Text is well-formed: half a surrogate pair is refused as no text at all.
 *  - Calls have names and inputs that every provider takes.
 *  A thinking block with metadata is never changed: its signature is over its words. */
export function sendableBlocks(message: Message): readonly Block[] {
  // An erased result shows as the missing result of its call.
  if (message.erased !== null) return message.role === 'tool_result' ? [] : erasedText
  const { role, blocks } = message
  let changed: Block[] | null = null
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]!
    const shown = showBlock(block, role, message, i)
    if (shown === block) changed?.push(block)
    else {
      changed ??= blocks.slice(0, i)
      if (shown !== null) changed.push(shown)
    }
  }
  return withoutTrailingThinking(changed ?? blocks)
}

function showBlock(block: Block, role: Role, message: Message, index: number): Block | null {
  if (!isKnown(block)) return null
  switch (block.type) {
    case 'text': {
      if (isBlank(block.text)) return null
      return block.text.isWellFormed() ? block : { ...block, text: block.text.toWellFormed() }
    }
    case 'thinking':
      if (role !== 'assistant') return null
      if (block.metadata !== undefined) return block
      if (isBlank(block.text)) return null
      return block.text.isWellFormed() ? block : { ...block, text: block.text.toWellFormed() }
    case 'tool_call':
      return role === 'assistant' ? showCall(block) : null
    case 'tool_result': {
      const output = wellFormed(block.output)
      return output === block.output ? block : { ...block, output }
    }
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return (role === 'user' || role === 'tool_result') && isWhole(message, index) ? block : named(block)
    default:
      return block satisfies never
  }
}

const callName = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

/** Anthropic wants an object as input; all want names of letters, digits, `_` and `-`, Google not a digit first. */
function showCall(block: ToolCallBlock): ToolCallBlock {
  const name = callName.test(block.name) ? block.name : safeName(block.name)
  const input = inputObject(block.input)
  return name === block.name && input === block.input ? block : { ...block, name, input }
}

function safeName(name: string): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  return (/^[a-zA-Z_]/.test(plain) ? plain : `_${plain}`).slice(0, 64)
}

function inputObject(input: Json): JsonObject {
  if (typeof input === 'object' && input !== null && !isList(input)) return wellFormed(input) as JsonObject
  return input === null ? {} : { input: wellFormed(input) }
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** The same value if every text in it is well-formed. */
function wellFormed(value: Json): Json {
  if (isWellFormed(value)) return value
  if (typeof value === 'string') return value.toWellFormed()
  if (isList(value)) return value.map(wellFormed)
  const members = Object.entries(value as JsonObject)
  return Object.fromEntries(members.map(([key, one]) => [key.toWellFormed(), wellFormed(one)]))
}

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (isList(value)) return value.every(isWellFormed)
  for (const key in value) if (!key.isWellFormed() || !isWellFormed(value[key]!)) return false
  return true
}

/** False if the message was read with previews and holds only the beginning of this payload. */
function isWhole(message: Message, index: number): boolean {
  return message.blobs.every(blob => blob.whole || blob.pointer !== `/blocks/${index}/data`)
}

function named(block: MediaBlock): Block {
  const name = block.name === undefined ? '' : `${block.name.toWellFormed()}, `
  return { type: 'text', text: `[${block.type}: ${name}${block.mime.toWellFormed()}]` }
}

function withoutTrailingThinking(blocks: readonly Block[]): readonly Block[] {
  let end = blocks.length
  while (end > 0 && blocks[end - 1]!.type === 'thinking') end--
  return end === blocks.length ? blocks : blocks.slice(0, end)
}

function isBlank(text: string): boolean {
  // Nearly every text begins with something visible.
  return !(text.charCodeAt(0) > 32 && text.charCodeAt(0) < 127) && !/\S/.test(text)
}

/** True for what stays in a message of the user once its tool results are taken out. */
export function isSaid(block: Block): boolean {
  return block.type === 'text' || isMedia(block)
}
