import { type Block, isMedia, type NewBlock } from './block.ts'
import { CorruptError } from './errors.ts'
import { sha256Hex } from './hash.ts'
import { isPlainObject, type Json, type JsonObject } from './json.ts'
import type { BlobRef } from './message.ts'

/** Strings and payloads above this many bytes are moved out of the body. Part of format 1, not a
 *  setting. */
export const blobLimit = 16_384

/** The bytes of a blob that a preview contains. */
export const previewBytes = 1_024

/** A payload to store. */
export interface NewBlob {
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly hash: string
  /** The bytes. */
  readonly data: Uint8Array
}

/** A message body as it is stored and hashed. */
export interface Body {
  /** JSON, in which large parts are references to blobs. */
  readonly text: string
  /** SHA-256 of the text, in hexadecimal. */
  readonly hash: string
  /** The parts that are stored apart. */
  readonly blobs: readonly NewBlob[]
}

/** Makes the stored form of blocks and meta that have passed `checkContent`. */
export function encodeBody(blocks: string | readonly NewBlock[], meta: JsonObject | undefined): Body {
  const blobs = new Map<string, NewBlob>()
  const text = JSON.stringify({ blocks: encodeBlocks(blocks, blobs), meta: meta && extract(meta, blobs) })
  return { text, hash: sha256Hex(text), blobs: [...blobs.values()] }
}

function encodeBlocks(blocks: string | readonly NewBlock[], blobs: Map<string, NewBlob>): Json {
  if (typeof blocks === 'string') return extract(blocks, blobs)
  return mapSame(blocks as readonly JsonObject[], block => {
    const payload = payloadOf(block)
    return staysAsIs(block, payload) ? block : extract(block, blobs, payload)
  })
}

/** The member of a block that holds base64, if it has one. Only this member is decoded to bytes. */
export function payloadOf(block: JsonObject): 'data' | undefined {
  return isMedia(block as { type: string }) ? 'data' : undefined
}

/** Replaces large strings by references and copies only changed parts. The member `payload` of the
 *  outermost object is base64. */
function extract(value: Json, blobs: Map<string, NewBlob>, payload?: string): Json {
  if (typeof value === 'string') return isLarge(value) ? put(Buffer.from(value), blobs) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return mapSame(value as readonly Json[], member => extract(member, blobs))
  const object = value as JsonObject
  let changed = false
  const members = Object.keys(object).map((key): [string, Json] => {
    const member = object[key]!
    const next = key === payload ? extractPayload(member, blobs) : extract(member, blobs)
    const name = isReserved(key) ? `$${key}` : key
    if (next !== member || name !== key) changed = true
    return [name, next]
  })
  return changed ? Object.fromEntries(members) : object
}

/** Whether nothing in the value is replaced. True for nearly every message, and faster than copying. */
function staysAsIs(value: Json, payload?: string): boolean {
  if (typeof value === 'string') return !isLarge(value)
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(member => staysAsIs(member))
  const object = value as JsonObject
  for (const key of Object.keys(object)) {
    const member = object[key]!
    if (isReserved(key)) return false
    if (key === payload ? isLong(member) : !staysAsIs(member)) return false
  }
  return true
}

function isLong(payload: Json): boolean {
  return typeof payload !== 'string' || payload.length > blobLimit
}

/** Replaces base64 by a reference to its bytes if they are many and encode to exactly this text. Any other
 *  text stays in the body, because it would not come back unchanged. */
function extractPayload(base64: Json, blobs: Map<string, NewBlob>): Json {
  if (typeof base64 !== 'string' || base64.length <= blobLimit) return base64
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length > blobLimit && bytes.toString('base64') === base64 ? put(bytes, blobs) : base64
}

/** Whether the UTF-8 of a text is longer than a string in a body may be. */
export function hasManyBytes(text: string): boolean {
  if (text.length * 3 <= blobLimit) return false
  return text.length > blobLimit || Buffer.byteLength(text) > blobLimit
}

/** A string with a lone surrogate has no UTF-8 encoding, so it stays in the body, where JSON escapes it. */
function isLarge(text: string): boolean {
  return hasManyBytes(text) && text.isWellFormed()
}

function put(data: Uint8Array, blobs: Map<string, NewBlob>): JsonObject {
  const blob = { hash: sha256Hex(data), data }
  blobs.set(blob.hash, blob)
  return referenceTo(blob)
}

/** What a body has instead of a blob. */
export function referenceTo({ hash, data }: NewBlob): JsonObject {
  return { $blob: hash, bytes: data.length }
}

/** `$blob` marks a reference. A caller's own key of that name is stored with one more `$`. */
export function isReserved(key: string): boolean {
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

/** The hashes that a body refers to. In JSON the quotes of a string follow a backslash, never a brace, so
 *  no text can imitate a reference. */
export function blobHashesIn(body: string): string[] {
  if (!body.includes('$blob"')) return []
  return [...body.matchAll(/\{"\$blob":"([0-9a-f]{64})"/g)].map(match => match[1]!)
}

/** The sizes of the blobs that a body refers to. */
export function blobSizesIn(body: string): number[] {
  if (!body.includes('$blob"')) return []
  return [...body.matchAll(/\{"\$blob":"[0-9a-f]{64}"(?:,"bytes":(\d+))?/g)].map(match =>
    Number(match[1] ?? 0),
  )
}

/** The loaded part of a blob: all of it, or its beginning. */
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

/** Reads a stored body. `load` returns the loaded part of a blob. A payload that was loaded in part is
 *  empty, unless `payloads` is `beginnings`. Throws CorruptError if the text is not a body, and the errors
 *  of `load`. */
export function decodeBody(
  body: string,
  load: (hash: string) => LoadedBlob,
  payloads: 'whole' | 'beginnings' = 'whole',
): DecodedBody {
  const { blocks, meta } = parse(body)
  if (!body.includes('$blob"')) return finish(blocks, meta, none)
  const blobs: BlobRef[] = []
  const restored = Array.isArray(blocks)
    ? blocks.map((block, i) => restoreMembers(block, `/blocks/${i}`, payloadOf(block)))
    : restore(blocks, '/blocks')
  return finish(restored, meta === undefined ? undefined : restore(meta, '/meta'), blobs)

  function restore(value: Json, pointer: string, encoding: 'utf8' | 'base64' = 'utf8'): Json {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((member, i) => restore(member, `${pointer}/${i}`))
    const { $blob } = value as JsonObject
    if (typeof $blob === 'string') return place($blob, pointer, encoding)
    return restoreMembers(value as JsonObject, pointer)
  }

  function restoreMembers(object: JsonObject, pointer: string, payload?: string): JsonObject {
    const members = Object.keys(object).map((key): [string, Json] => {
      const name = isReserved(key) ? key.slice(1) : key
      const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      return [name, restore(object[key]!, at, key === payload ? 'base64' : 'utf8')]
    })
    return Object.fromEntries(members)
  }

  function place(hash: string, pointer: string, encoding: 'utf8' | 'base64'): string {
    const { data, bytes } = load(hash)
    const whole = data.length === bytes
    blobs.push({ hash, bytes, pointer, whole })
    if (encoding === 'base64')
      return whole || payloads === 'beginnings' ? Buffer.from(data).toString('base64') : ''
    // As for a stream that continues: the bytes of a character that was cut are left out.
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(data, { stream: !whole })
  }
}

function parse(body: string): { readonly blocks: Json; readonly meta?: Json } {
  let parsed: Json
  try {
    parsed = JSON.parse(body)
  } catch (cause) {
    throw new CorruptError('a stored body cannot be read', { cause })
  }
  if (!isPlainObject(parsed) || parsed.blocks === undefined)
    throw new CorruptError('a stored body has no blocks')
  return parsed as { readonly blocks: Json; readonly meta?: Json }
}

function finish(blocks: Json, meta: Json | undefined, blobs: readonly BlobRef[]): DecodedBody {
  const plain = typeof blocks === 'string'
  return {
    blocks: plain ? [{ type: 'text', text: blocks }] : (blocks as unknown as readonly Block[]),
    plain,
    meta: (meta as JsonObject | undefined) ?? null,
    blobs,
  }
}
