import type { Block, KnownBlock } from './block.ts'
import { type DecodedBody, decodeBody, type LoadedBlob } from './body.ts'
import { CorruptError } from './errors.ts'
import { checkShape } from './prepare.ts'

/** Reads a stored body as `decodeBody` does, and checks the fields of its blocks, which every reader relies
 *  on. Throws CorruptError. */
export function readBody(
  body: string,
  load: (hash: string) => LoadedBlob,
  payloads: 'whole' | 'beginnings' = 'whole',
): DecodedBody {
  const content = decodeBody(body, load, payloads)
  const { blocks, meta, plain } = content
  if (meta === null && (plain || (Array.isArray(blocks) && blocks.every(isUsual)))) return content
  try {
    checkShape(blocks, meta ?? undefined, 'body')
  } catch (cause) {
    throw new CorruptError((cause as Error).message, { cause })
  }
  return content
}

/** Whether a block is one of the usual ones, whose fields are checked here because a path has thousands. */
function isUsual(block: Block | null): boolean {
  const known = block as KnownBlock | null
  if (typeof known !== 'object' || known === null) return false
  if (known.mime !== undefined || known.modality !== undefined || known.metadata !== undefined) return false
  switch (known.type) {
    case 'text':
    case 'thinking':
      return typeof known.text === 'string'
    case 'tool_call':
      return typeof known.callId === 'string' && typeof known.name === 'string' && known.input !== undefined
    case 'tool_result':
      return typeof known.callId === 'string' && known.name === undefined && known.output !== undefined
    default:
      return false
  }
}
