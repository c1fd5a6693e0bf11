import { type Block, isKnown, isMedia, type MediaBlock } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Message, Role } from '../../core/message.ts'

/** The content of an erased message. */
const erasedText: readonly Block[] = [{ type: 'text', text: '[erased]' }]

/** The blocks of a stored message that a model can be given in its role. Returns the same list if all of them
 *  can.
 *  - Blank text is left out, unless it has metadata of a provider. So are thinking and calls of any role
 *    other than the assistant, and thinking at the end of a message, which led to nothing.
 *  - Blocks of unknown types are left out, except those with the data of a provider's own tools
 *    (`provider_…`), which are sent back in messages of the assistant.
 *  - Media that were read only in part are replaced by a text.
 *  - Text is made well-formed: providers refuse an unpaired surrogate.
 *  A thinking block with metadata is never changed, because its signature covers its text. Differences
 *  between providers (names and inputs of calls, kinds of media) are handled where the request is written. */
export function sendableBlocks(message: Message): readonly Block[] {
  // An erased result becomes the missing result of its call.
  if (message.erased !== null) return message.role === 'tool_result' ? [] : erasedText
  const { role, content: blocks } = message
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

/** Returns the same value if every string in it is well-formed. */
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

/** False if the message was read as a preview and has only the beginning of this payload. */
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
  // Fast path: nearly every text begins with a visible character.
  return !(text.charCodeAt(0) > 32 && text.charCodeAt(0) < 127) && !/\S/.test(text)
}

/** True for the user's own content, as opposed to tool results in the same message. */
export function isSaid(block: Block): boolean {
  return block.type === 'text' || isMedia(block)
}
