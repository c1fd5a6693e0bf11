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
  if (content.plain && content.meta === null) return content
  try {
    checkShape(content.blocks, content.meta ?? undefined, 'body')
  } catch (cause) {
    throw new CorruptError((cause as Error).message, { cause })
  }
  return content
}
