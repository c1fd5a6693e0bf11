import { type Block, isKnown } from '../core/block.ts'
import type { blockSchema, JsonOf, otherBlockSchema } from './schema/index.ts'

/** A block as JSON. */
export type BlockJson = JsonOf<typeof blockSchema> | JsonOf<typeof otherBlockSchema>

/** Maps a block to JSON. A block of an unknown type is returned unchanged. */
export function blockJson(block: Block): BlockJson {
  if (!isKnown(block)) return block
  const { mime = null, modality = null, metadata: meta = null } = block
  switch (block.type) {
    case 'text':
    case 'thinking':
      return { type: block.type, mime, text: block.text, meta, modality }
    case 'tool_call': {
      const { callId, name, input } = block
      return { type: block.type, mime, call_id: callId, name, input, meta, modality }
    }
    case 'tool_result': {
      const { callId, name = null, output, isError = false } = block
      return { type: block.type, mime, call_id: callId, name, output, is_error: isError, meta, modality }
    }
    default: {
      const { data = null, url = null, name = null } = block
      return { type: block.type, mime, data, url, name, meta, modality }
    }
  }
}
