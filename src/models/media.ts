import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { MediaBlock } from '../core/block.ts'
import { isTextType } from '../core/tokens.ts'
import type { Dialect } from './dialect.ts'

/** A media block as a part of a message. Text files become text, which every provider accepts. Media that the
 *  provider does not accept are replaced by a description, and not left out. */
export function mediaPart(
  block: MediaBlock,
  dialect: Dialect,
): LanguageModelV4FilePart | LanguageModelV4TextPart {
  const mediaType = block.mime.toLowerCase().replace(/;.*/s, '').trim()
  const named = block.name === undefined ? {} : { filename: block.name }
  const data = block.data ?? embedded(block.url)
  if (data !== undefined) {
    if (isTextType(mediaType)) return { type: 'text', text: `${titleOf(block)}:\n${decoded(data)}` }
    if (dialect.takes(mediaType, 'data'))
      return { type: 'file', mediaType, data: { type: 'data', data }, ...named }
  } else if (block.url !== undefined && /^(https?|file):/.test(block.url) && URL.canParse(block.url)) {
    // A provider cannot fetch a local file, but tools can read it by its path.
    if (!block.url.startsWith('file:') && dialect.takes(mediaType, 'url')) {
      return { type: 'file', mediaType, data: { type: 'url', url: new URL(block.url) }, ...named }
    }
    return { type: 'text', text: `[${titleOf(block)}: ${block.url}]` }
  }
  return { type: 'text', text: `[${titleOf(block)}: not shown, this model does not take it]` }
}

/** `image photo.png (image/png)` */
export function titleOf(block: MediaBlock): string {
  return `${block.type}${block.name === undefined ? '' : ` ${block.name}`} (${block.mime})`
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8')
}

/** The bytes of a `data:` URL. */
function embedded(url: string | undefined): string | undefined {
  return /^data:[^,]*;base64,(.*)$/s.exec(url ?? '')?.[1]
}
