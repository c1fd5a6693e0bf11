import { type Block, isKnown, isMedia, type MediaBlock } from '../core/block.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Message, Role } from '../core/message.ts'

/** What a message shows whose words were erased. */
const erasedText: readonly Block[] = [{ type: 'text', text: '[erased]' }]

/** The blocks of a stored message that a model can be given under its role: the same list if all of them can.
 *  - Text of white space alone is left out, unless a provider marked it; so is thinking of anybody but the
 *    assistant, and thinking at the end of a message, with nothing that it led to. Calls are the assistant's.
 *  - Blocks of unknown types are left out, but for those in which a provider keeps what its own tools did
 *    (`provider_…`): they go back in the assistant's messages.
 *  - Media of which only the beginning was read are named by a text.
 *  - Text is well-formed: half a surrogate pair is refused as no text at all.
 *  A thinking block with metadata is never changed: its signature is over its words. What differs between
 *  providers (names and inputs of calls, kinds of media) is left to whoever writes the request. */
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
  const isAnswer = role === 'assistant'
  if (!isKnown(block)) return isAnswer && block.type.startsWith('provider_') ? block : null
  switch (block.type) {
    case 'text':
      if (isBlank(block.text)) return isAnswer && block.metadata !== undefined ? block : null
      return block.text.isWellFormed() ? block : { ...block, text: block.text.toWellFormed() }
    case 'thinking':
      if (!isAnswer) return null
      if (block.metadata !== undefined) return block
      if (isBlank(block.text)) return null
      return block.text.isWellFormed() ? block : { ...block, text: block.text.toWellFormed() }
    case 'tool_call': {
      if (!isAnswer) return null
      const input = wellFormed(block.input)
      return input === block.input ? block : { ...block, input }
    }
    case 'tool_result': {
      const output = wellFormed(block.output)
      return output === block.output ? block : { ...block, output }
    }
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return isWhole(message, index) ? block : named(block)
    default:
      return block satisfies never
  }
}

/** The same value if every text in it is well-formed. */
function wellFormed(value: Json): Json {
  if (isWellFormed(value)) return value
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  const members = Object.entries(value as JsonObject)
  return Object.fromEntries(members.map(([key, one]) => [key.toWellFormed(), wellFormed(one)]))
}

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  const members = value as JsonObject
  for (const key in members) if (!key.isWellFormed() || !isWellFormed(members[key]!)) return false
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
