import type { LanguageModelV4FilePart, SharedV4FileData } from '@ai-sdk/provider'
import { asBlock, type Block, isKnown, isMedia, type MediaBlock } from '../core/block.ts'
import type { JsonObject } from '../core/json.ts'
import { base64Of, plainJson } from './plain-json.ts'

/** A file of a prompt or an answer as a block: media, or a reference to a file that the provider stores. A
 *  text that is part of the prompt itself has `metadata.inline`. */
export function fileBlock(
  {
    mediaType: mime,
    data,
    filename,
  }: Pick<LanguageModelV4FilePart, 'mediaType' | 'data'> & { readonly filename?: string },
  metadata: { readonly metadata?: JsonObject },
): Block {
  const name = filename === undefined ? {} : { name: filename }
  const type = mediaKind(mime)
  switch (data.type) {
    case 'reference':
      return asBlock({
        type: 'provider_file',
        mime,
        reference: plainJson(data.reference),
        ...name,
        ...metadata,
      })
    case 'text': {
      const noted = { ...metadata.metadata, inline: true }
      return { type, mime, data: Buffer.from(data.text).toString('base64'), ...name, metadata: noted }
    }
    case 'url':
      return { type, mime, url: data.originalUrl ?? data.url.href, ...name, ...metadata }
    case 'data': {
      const base64 = typeof data.data === 'string' ? data.data : base64Of(data.data)
      return { type, mime, data: base64, ...name, ...metadata }
    }
    default:
      return asBlock({
        type: 'provider_file',
        mime,
        data: plainJson(data satisfies never),
        ...name,
        ...metadata,
      })
  }
}

/** The data of a media block in the form of the SDK. */
export function fileData(block: MediaBlock): Exclude<SharedV4FileData, { type: 'reference' }> {
  if (block.data === undefined) return { type: 'url', url: new URL(block.url ?? 'about:blank') }
  if (block.metadata?.inline !== true) return { type: 'data', data: block.data }
  return { type: 'text', text: Buffer.from(block.data, 'base64').toString() }
}

/** Whether media are a part of reasoning (`metadata.reasoning`). */
export function isReasoningFile(block: Block): boolean {
  return isKnown(block) && isMedia(block) && block.metadata?.reasoning === true
}

function mediaKind(mime: string): MediaBlock['type'] {
  const top = mime.split('/')[0]?.toLowerCase()
  return top === 'image' || top === 'audio' || top === 'video' ? top : 'file'
}
