import { asBlock, type Block, isMedia, type MediaBlock, otherOf } from '../../core/block.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isObject } from '../wire/is-object.ts'

/** Converts a content block of the protocol to one of ours, so that `contentFromBlock` restores it exactly.
 *  Fields that our block does not have are in `metadata.acp.fields`. An unknown block has the type `acp`. */
export function blockFromContent(content: unknown): Block {
  if (!isObject(content)) return asBlock({ type: 'acp', content: content ?? null })
  switch (content.type) {
    case 'text':
      return textBlock(content) ?? unknownBlock(content)
    case 'image':
    case 'audio':
      return mediaBlock(content, content.type) ?? unknownBlock(content)
    case 'resource_link':
      return linkBlock(content) ?? unknownBlock(content)
    case 'resource':
      return resourceBlock(content) ?? unknownBlock(content)
    default:
      return unknownBlock(content)
  }
}

/** Converts a block to a content block of the protocol. Null for blocks that have none: calls, results,
 *  thinking, and other programs' own types. */
export function contentFromBlock(block: Block): JsonObject | null {
  const other = otherOf(block)
  if (other) return other.type === 'acp' && isObject(other.content) ? other.content : null
  if (block.type === 'text') return { type: 'text', text: block.text, ...fieldsOf(block.metadata) }
  return isMedia(block) ? (asItCame(block) ?? mediaContent(block)) : null
}

function unknownBlock(content: JsonObject): Block {
  return asBlock({ type: 'acp', content })
}

function textBlock({ type: _, text, ...fields }: JsonObject): Block | null {
  return typeof text === 'string' ? { type: 'text', text, ...kept(fields) } : null
}

/** A `uri` next to the data stays among the fields: as `url`, it would make a provider fetch data that it
 *  already has. */
function mediaBlock({ data, mimeType, ...rest }: JsonObject, type: 'image' | 'audio'): Block | null {
  if (typeof data !== 'string' || typeof mimeType !== 'string') return null
  const { type: _, ...fields } = rest
  return { type, mime: mimeType, data, ...kept(fields) }
}

function linkBlock({ type: _, uri, name, ...fields }: JsonObject): Block | null {
  if (typeof uri !== 'string' || typeof name !== 'string') return null
  const mime = typeof fields.mimeType === 'string' ? fields.mimeType : 'application/octet-stream'
  return { type: 'file', mime, url: uri, name, metadata: { acp: { as: 'resource_link', fields } } }
}

function resourceBlock({ type: _, resource, ...fields }: JsonObject): Block | null {
  if (!isObject(resource) || typeof resource.uri !== 'string') return null
  const { text, blob, ...about } = resource
  // Half of a surrogate pair cannot be encoded as bytes.
  const isText = typeof text === 'string' && text.isWellFormed() && blob === undefined
  if (!isText && (typeof blob !== 'string' || text !== undefined)) return null
  const mime =
    typeof about.mimeType === 'string' ? about.mimeType : isText ? 'text/plain' : 'application/octet-stream'
  return {
    type: 'file',
    mime,
    data: isText ? Buffer.from(text).toString('base64') : (blob as string),
    name: lastPartOf(resource.uri),
    metadata: { ...(isText ? { inline: true } : {}), acp: { as: isText ? 'text' : 'blob', about, fields } },
  }
}

/** Restores the content that `blockFromContent` converted; null for media from elsewhere. */
function asItCame(block: MediaBlock): JsonObject | null {
  const acp = block.metadata?.acp
  const fields = fieldsOf(block.metadata)
  if (!isObject(acp)) return null
  switch (acp.as) {
    case 'resource_link':
      return { type: 'resource_link', uri: block.url ?? '', name: block.name ?? '', ...fields }
    case 'text':
      return { type: 'resource', resource: { ...asObject(acp.about), text: decoded(block) }, ...fields }
    case 'blob':
      return { type: 'resource', resource: { ...asObject(acp.about), blob: block.data ?? '' }, ...fields }
    default: {
      const { type, data, mime } = block
      return (type === 'image' || type === 'audio') && data !== undefined
        ? { type, data, mimeType: mime, ...fields }
        : null
    }
  }
}

/** A media block as content of the protocol: images and audio as such, other data as an embedded resource,
 *  and a block without data as a link. */
function mediaContent(block: MediaBlock): JsonObject {
  const { type, mime, data, url, name } = block
  const called = name ?? `${type}.${mime.split(/[/;+]/)[1] || 'bin'}`
  if (data === undefined) return { type: 'resource_link', uri: url ?? '', name: called, mimeType: mime }
  if (type === 'image' || type === 'audio') return { type, data, mimeType: mime }
  const uri = url ?? `attachment:///${encodeURIComponent(called.toWellFormed())}`
  const text = mime.startsWith('text/') ? textIn(data) : null
  const contents = text === null ? { blob: data } : { text }
  return { type: 'resource', resource: { uri, mimeType: mime, ...contents } }
}

/** Null if the bytes are not UTF-8: text would not give them back. */
function textIn(data: string): string | null {
  const bytes = Buffer.from(data, 'base64')
  const text = bytes.toString()
  return Buffer.from(text).equals(bytes) ? text : null
}

function kept(fields: JsonObject): { metadata?: JsonObject } {
  return Object.keys(fields).length > 0 ? { metadata: { acp: { fields } } } : {}
}

function fieldsOf(metadata: JsonObject | undefined): JsonObject {
  return isObject(metadata?.acp) ? asObject(metadata.acp.fields) : {}
}

function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

function decoded({ data = '' }: MediaBlock): string {
  return Buffer.from(data, 'base64').toString()
}

/** A name for people. */
function lastPartOf(uri: string): string {
  const path = uri.replace(/[?#].*$/s, '').replace(/\/+$/, '')
  return path.slice(path.lastIndexOf('/') + 1) || uri
}
