import { type Block, isMedia } from './block.ts'
import { isPlainObject } from './check.ts'
import { sha256Hex } from './hash.ts'
import type { Json, JsonObject } from './json.ts'
import type { BlobRef } from './message.ts'

/** Strings and payloads above this many bytes leave the body. Part of format 1, no setting. */
export const blobLimit = 16_384

/** How much of a blob a preview shows, in bytes. */
export const previewBytes = 1_024

/** A payload on its way into the store. */
export interface NewBlob {
  readonly hash: string
  readonly data: Uint8Array
}

/** A message body as it is stored and hashed. */
export interface Body {
  readonly text: string
  readonly hash: string
  readonly blobs: readonly NewBlob[]
}

/** Makes the stored form of blocks and meta that have passed `checkMessage`. */
export function encodeBody(blocks: string | readonly Block[], meta: JsonObject | undefined): Body {
  const blobs = new Map<string, NewBlob>()
  const text = JSON.stringify({ blocks: encodeBlocks(blocks, blobs), meta: meta && extract(meta, blobs) })
  return { text, hash: sha256Hex(text), blobs: [...blobs.values()] }
}

function encodeBlocks(blocks: string | readonly Block[], blobs: Map<string, NewBlob>): Json {
  if (typeof blocks === 'string') return extract(blocks, blobs)
  return mapSame(blocks as readonly JsonObject[], block => {
    const rest = extract(block, blobs, isMedia(block as { type: string }) ? 'data' : undefined)
    const data = isMedia(block as { type: string }) ? (block.data as string | undefined) : undefined
    const bytes = data === undefined ? null : largePayload(data)
    return bytes ? { ...(rest as JsonObject), data: put(bytes, blobs) } : rest
  })
}

/** The bytes behind base64, if they are many and the text is exactly what encoding them gives; any
 *  other text must stay as it is, or it would come back changed. */
function largePayload(base64: string): Uint8Array | null {
  if (base64.length <= blobLimit) return null
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length > blobLimit && bytes.toString('base64') === base64 ? bytes : null
}

/** Replaces large strings by references, and copies only what changes. The member `skip` of the
 *  outermost object is left alone. */
function extract(value: Json, blobs: Map<string, NewBlob>, skip?: string): Json {
  if (typeof value === 'string') return isLarge(value) ? put(Buffer.from(value), blobs) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return mapSame(value as readonly Json[], member => extract(member, blobs))
  const object = value as JsonObject
  let changed = false
  const members = Object.keys(object).map((key): [string, Json] => {
    const member = object[key]!
    const next = key === skip ? member : extract(member, blobs)
    const name = isReserved(key) ? `$${key}` : key
    if (next !== member || name !== key) changed = true
    return [name, next]
  })
  return changed ? Object.fromEntries(members) : object
}

/** A string with a lone surrogate has no UTF-8 of its own: it stays in the body, where JSON escapes it. */
function isLarge(text: string): boolean {
  if (text.length * 3 <= blobLimit) return false
  return Buffer.byteLength(text) > blobLimit && text.isWellFormed()
}

function put(data: Uint8Array, blobs: Map<string, NewBlob>): JsonObject {
  const hash = sha256Hex(data)
  blobs.set(hash, { hash, data })
  return { $blob: hash, bytes: data.length }
}

/** `$blob` means a reference; a caller's own key of that name is stored with one more `$`. */
function isReserved(key: string): boolean {
  return key.charCodeAt(0) === 36 && /^\$+blob$/.test(key)
}

function mapSame<T extends Json>(list: readonly T[], change: (member: T) => Json): Json {
  let changed = false
  const next = list.map(member => {
    const result = change(member)
    if (result !== member) changed = true
    return result
  })
  return changed ? next : list
}

/** What a body refers to. Inside JSON strings every quote is escaped, so this cannot be faked. */
export function blobHashesIn(body: string): string[] {
  if (!body.includes('"$blob"')) return []
  return [...body.matchAll(/"\$blob":"([0-9a-f]{64})"/g)].map(match => match[1]!)
}

/** What was read of a blob: all of it, or the beginning. */
export interface LoadedBlob {
  readonly data: Uint8Array
  readonly bytes: number
}

export interface DecodedBody {
  readonly blocks: readonly Block[]
  readonly plain: boolean
  readonly meta: JsonObject | null
  readonly blobs: readonly BlobRef[]
}

const none: readonly BlobRef[] = []

/** Reads a stored body back. `load` gives what was read of a blob; throws what `load` throws. */
export function decodeBody(body: string, load: (hash: string) => LoadedBlob): DecodedBody {
  const parsed = JSON.parse(body) as { blocks: string | Block[]; meta?: JsonObject }
  if (!body.includes('$blob"')) return finish(parsed.blocks, parsed.meta ?? null, none)
  const blobs: BlobRef[] = []
  const blocks = restore(parsed.blocks as Json, '/blocks', false)
  const meta = parsed.meta === undefined ? null : (restore(parsed.meta, '/meta', false) as JsonObject)
  return finish(blocks as unknown as string | Block[], meta, blobs)

  function restore(value: Json, pointer: string, base64: boolean): Json {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      return value.map((member: Json, i: number) => restore(member, `${pointer}/${i}`, false))
    }
    const object = value as JsonObject
    if (typeof object.$blob === 'string') return place(object.$blob, pointer, base64)
    const media =
      isPlainObject(object) && /^\/blocks\/\d+$/.test(pointer) && isMedia(object as { type: string })
    return Object.fromEntries(
      Object.keys(object).map(key => [
        isReserved(key) ? key.slice(1) : key,
        restore(object[key]!, `${pointer}/${escapePointer(key)}`, media && key === 'data'),
      ]),
    )
  }

  function place(hash: string, pointer: string, base64: boolean): string {
    const { data, bytes } = load(hash)
    const whole = data.length === bytes
    blobs.push({ hash, bytes, pointer, whole })
    if (base64) return whole ? Buffer.from(data).toString('base64') : ''
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole ? data : trimPartial(data))
  }
}

function finish(blocks: string | Block[], meta: JsonObject | null, blobs: readonly BlobRef[]): DecodedBody {
  const plain = typeof blocks === 'string'
  return { blocks: plain ? [{ type: 'text', text: blocks }] : blocks, plain, meta, blobs }
}

/** Drops the bytes of a character that the cut of a preview has torn. */
function trimPartial(data: Uint8Array): Uint8Array {
  let end = data.length
  while (end > 0 && (data[end - 1]! & 0xc0) === 0x80) end--
  return end > 0 && data[end - 1]! >= 0xc0 ? data.subarray(0, end - 1) : data.subarray(0, end)
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
