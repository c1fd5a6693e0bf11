import { type Block, isMedia } from './block.ts'
import type { Json } from './json.ts'
import type { BlobRef, Message } from './message.ts'

/** The block that a blob of a message belongs to; null if it belongs to the message's meta. */
export function blockOfBlob(message: Message, ref: BlobRef): Block | null {
  const index = blockIndex(ref)
  return index === null ? null : (message.blocks[index] ?? null)
}

/** A message that was read as a preview, with these blobs put in their place. Others stay as they are. */
export function fillBlobs(message: Message, loaded: ReadonlyMap<string, Uint8Array>): Message {
  let blocks = message.blocks
  const blobs = message.blobs.map(ref => {
    const data = loaded.get(ref.hash)
    const index = blockIndex(ref)
    if (ref.whole || data === undefined || index === null) return ref
    blocks = blocks.with(index, filled(blocks[index]!, ref, data))
    return { ...ref, whole: true }
  })
  return { ...message, blocks, blobs }
}

/** `/blocks` itself is the text of a message that is a plain string. */
function blockIndex(ref: BlobRef): number | null {
  if (ref.pointer === '/blocks') return 0
  const found = /^\/blocks\/(\d+)\//.exec(ref.pointer)
  return found ? Number(found[1]) : null
}

function filled(block: Block, ref: BlobRef, data: Uint8Array): Block {
  const path = ref.pointer === '/blocks' ? ['text'] : ref.pointer.split('/').slice(3).map(unescaped)
  const base64 = isMedia(block) && path.length === 1 && path[0] === 'data'
  const text = base64
    ? Buffer.from(data).toString('base64')
    : new TextDecoder('utf-8', { ignoreBOM: true }).decode(data)
  return put(block as unknown as Json, path, text) as unknown as Block
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

function put(value: Json, [key, ...rest]: readonly string[], text: string): Json {
  if (key === undefined) return text
  if (Array.isArray(value)) return value.with(Number(key), put(value[Number(key)]!, rest, text))
  const object = value as { readonly [key: string]: Json }
  return { ...object, [key]: put(object[key]!, rest, text) }
}
