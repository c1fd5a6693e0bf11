import type { MediaBlock } from '../../core/block.ts'
import type { JsonObject } from '../../core/json.ts'

/** Media of ours as the protocol has them: an image or a sound that we hold as such, anything else that we hold as an
 *  embedded resource, and what lies elsewhere as a link to it. */
export function mediaContent(block: MediaBlock): JsonObject {
  const { type, mime, data, url, name } = block
  const called = name ?? `${type}.${mime.split(/[/;+]/)[1] || 'bin'}`
  if (data === undefined) return { type: 'resource_link', uri: url ?? '', name: called, mimeType: mime }
  if (type === 'image' || type === 'audio') return { type, data, mimeType: mime }
  const uri = url ?? `attachment:///${encodeURIComponent(called.toWellFormed())}`
  const text = mime.startsWith('text/') ? textIn(data) : null
  const contents = text === null ? { blob: data } : { text }
  return { type: 'resource', resource: { uri, mimeType: mime, ...contents } }
}

/** Null if the bytes are no UTF-8: a client that was given them as text could not get them back. */
function textIn(data: string): string | null {
  const bytes = Buffer.from(data, 'base64')
  const text = bytes.toString()
  return Buffer.from(text).equals(bytes) ? text : null
}
