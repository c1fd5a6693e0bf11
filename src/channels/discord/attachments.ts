import type { MediaBlock } from '../../core/block.ts'
import { isTextType } from '../../core/tokens.ts'
import type { IncomingAttachment } from './incoming.ts'

/** Most files of a message that are read. */
const mostFiles = 10
const mostImageBytes = 5_000_000
const mostTextBytes = 512_000
/** The time to read one file. */
const patienceMs = 15_000

const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const textEndings =
  /\.(?:c|cc|conf|cpp|cs|css|csv|diff|env|go|h|hpp|html?|ini|java|jsx?|json|jsonl|kt|log|lua|md|mjs|patch|php|pl|py|rb|rs|scala|sh|sql|svg|swift|toml|tsv|tsx?|txt|vue|xml|ya?ml|zig)$/i

/** What becomes of a file: it is read as an image or as a text, or only named. */
export function kindOfAttachment({ name, mime, bytes }: IncomingAttachment): 'image' | 'text' | 'named' {
  const type = mime.toLowerCase().replace(/;.*/s, '').trim()
  if (imageTypes.includes(type)) return bytes <= mostImageBytes ? 'image' : 'named'
  if (isTextType(type) || textEndings.test(name)) return bytes <= mostTextBytes ? 'text' : 'named'
  return 'named'
}

/** Reads the images and the text files of a message. The others, and all after the tenth, are named without
 *  their content; `metadata` says how large they are and why they were not read. */
export async function readAttachments(
  attachments: readonly IncomingAttachment[],
  signal: AbortSignal,
): Promise<readonly MediaBlock[]> {
  return Promise.all(attachments.map((one, i) => blockOf(one, i < mostFiles, signal)))
}

async function blockOf(
  attachment: IncomingAttachment,
  isRead: boolean,
  signal: AbortSignal,
): Promise<MediaBlock> {
  const kind = kindOfAttachment(attachment)
  if (!isRead) return namedBlock(attachment, `only ${mostFiles} files of a message are read`)
  if (kind === 'named') return namedBlock(attachment, 'too large, or neither an image nor text')
  const most = kind === 'image' ? mostImageBytes : mostTextBytes
  const bytes = await download(attachment.url, most, signal).catch(() => null)
  if (bytes === null) return namedBlock(attachment, 'it could not be downloaded')
  const name = plainFileName(attachment.name)
  if (kind === 'image') return { type: 'image', mime: attachment.mime, data: bytes.toString('base64'), name }
  const text = bytes.toString('utf8').replaceAll('\0', '')
  const mime = isTextType(attachment.mime) ? attachment.mime : 'text/plain'
  return { type: 'file', mime, data: Buffer.from(text).toString('base64'), name }
}

/** A file without its content. */
function namedBlock({ name, mime, bytes }: IncomingAttachment, reason: string): MediaBlock {
  return {
    type: 'file',
    mime: mime === '' ? 'application/octet-stream' : mime,
    name: plainFileName(name),
    // Not an address of the web: a provider must not fetch it, and Discord's links expire.
    url: `attachment:${encodeURIComponent(plainFileName(name).toWellFormed())}`,
    metadata: { bytes, not_read: reason },
  }
}

/** A name is shown on a line of its own to the model. */
function plainFileName(name: string): string {
  return name.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').slice(0, 200) || 'unnamed'
}

/** Discord names the size in advance; a file that turns out larger is not read. */
async function download(url: string, most: number, signal: AbortSignal): Promise<Buffer | null> {
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]) })
  if (!response.ok || response.body === null) return null
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    size += chunk.length
    if (size > most) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
