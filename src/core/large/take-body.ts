import { hasManyBytes, isReserved, payloadOf } from '../body.ts'
import { isPlainObject, type Json, type JsonObject, longestString, maxNesting } from '../json.ts'
import { checkContent, checkShape } from '../prepare.ts'

/** A list or an object that was copied. */
type Holder = Record<string | number, Json>

/** Where a long string is. */
export interface LongText {
  readonly holder: Holder
  readonly key: string | number
  /** Whether it is base64, which is decoded to bytes. */
  readonly isPayload: boolean
}

/** A copy of the content of a message. Its strings are the caller's, which never change. */
export interface TakenBody {
  readonly root: { blocks: Json; meta?: JsonObject }
  readonly longTexts: readonly LongText[]
  /** Objects with a key that is stored under another name. */
  readonly reserved: readonly JsonObject[]
}

const notJson = Symbol('not JSON')

/** Checks and copies the content of a message in one pass, so that later changes by the caller are not
 *  stored. Throws InvalidError naming the field. */
export function takeBody(content: unknown, metadata: unknown, field: string): TakenBody {
  const longTexts: LongText[] = []
  const reserved: JsonObject[] = []
  const root: { blocks: Json; meta?: JsonObject } = { blocks: [] }
  try {
    if (!Array.isArray(content)) put(root as unknown as Holder, 'blocks', content, 0)
    else
      root.blocks = content.map(block => copy(block, 0, isPlainObject(block) ? payloadOf(block) : undefined))
    if (metadata !== undefined) root.meta = copy(metadata, 0) as JsonObject
  } catch (error) {
    // The usual check names the field.
    if (error === notJson) checkContent(content, metadata, field)
    throw error
  }
  checkShape(root.blocks, root.meta, field)
  return { root, longTexts, reserved }

  function put(holder: Holder, key: string | number, value: unknown, depth: number, isPayload = false): void {
    if (typeof value === 'string' && hasManyBytes(value)) longTexts.push({ holder, key, isPayload })
    const copied = copy(value, depth)
    if (key === '__proto__') Object.defineProperty(holder, key, { value: copied, ...ordinary })
    else holder[key] = copied
  }

  function copy(value: unknown, depth: number, payload?: string): Json {
    switch (typeof value) {
      case 'string':
        if (value.length > longestString) throw notJson
        return value
      case 'boolean':
        return value
      case 'number':
        if (!Number.isFinite(value)) throw notJson
        return value
      case 'object':
        break
      default:
        throw notJson
    }
    if (value === null) return null
    if (depth >= maxNesting) throw notJson
    if (Array.isArray(value)) {
      const list: Json[] = []
      for (let i = 0; i < value.length; i++) put(list as unknown as Holder, i, value[i], depth + 1)
      return list
    }
    if (!isPlainObject(value)) throw notJson
    const object: Holder = {}
    let isRenamed = false
    for (const key of Object.keys(value)) {
      const member = value[key]
      if (member === undefined) continue
      if (isReserved(key)) isRenamed = true
      put(object, key, member, depth + 1, key === payload)
    }
    if (isRenamed) reserved.push(object)
    return object
  }
}

const ordinary = { enumerable: true, configurable: true, writable: true }

/** Gives the keys that mark references another name. */
export function renameReserved(object: JsonObject): void {
  const holder = object as Holder
  const members = Object.entries(object)
  for (const [key] of members) delete holder[key]
  for (const [key, value] of members)
    Object.defineProperty(holder, isReserved(key) ? `$${key}` : key, { value, ...ordinary })
}
