import { afterSpace, endOfScalar, endOfString } from './json-tokens.ts'

/** The bytes of a value: `to` is the first byte after it. */
export interface JsonSpan {
  readonly from: number
  readonly to: number
}

export type JsonPath = readonly (string | number)[]

const openObject = 0x7b
const openArray = 0x5b
const comma = 0x2c
const colon = 0x3a
/** In ASCII, a closing bracket of either kind is two code points after its opening one. */
const toClosing = 2

/** The spans of all values at a path, in the order of the text. A key that occurs twice gives two spans,
 *  because readers differ in which one they use. Empty if the path does not occur, or if the text is not
 *  valid JSON. Reads every byte once and does not recurse: an agent may send anything. */
export function findSpans(json: Buffer, path: JsonPath): readonly JsonSpan[] {
  const found: JsonSpan[] = []
  /** The open brackets, as bytes: there may be as many as the text has characters. */
  let open = new Uint8Array(64)
  let depth = 0
  /** The current index in each open array on the path. */
  const indexes: number[] = []
  /** How many of the open values are on the path. The innermost one is, if all of them are. */
  let along = 0
  let isOnPath = true
  /** Where the wanted value begins, while the scan is inside it. */
  let from = -1
  let at = afterSpace(json, 0)
  for (;;) {
    const byte = json[at]
    const isIt = isOnPath && depth === path.length
    if (byte === openObject || byte === openArray) {
      if (isIt) from = at
      else if (isOnPath) indexes[along++] = 0
      if (depth === open.length) open = larger(open)
      open[depth++] = byte
      at = afterSpace(json, at + 1)
    } else {
      const to = endOfScalar(json, at)
      if (to < 0) return []
      if (isIt) found.push({ from: at, to })
      at = afterSpace(json, to)
    }
    const hasBegun = byte === openObject || byte === openArray
    if (!hasBegun || json[at] === byte + toClosing) {
      // After a value, or at the end of an empty one: close everything that ends here, up to the next comma.
      while (depth > 0 && json[at] === open[depth - 1]! + toClosing) {
        depth--
        at++
        if (along > depth) along = depth
        if (from >= 0 && depth === path.length) {
          found.push({ from, to: at })
          from = -1
        }
        at = afterSpace(json, at)
      }
      if (depth === 0) return at === json.length ? found : []
      if (json[at] !== comma) return []
      at = afterSpace(json, at + 1)
      if (along === depth) indexes[along - 1]!++
    }
    const step = along === depth ? path[along - 1] : undefined
    if (open[depth - 1] === openArray) {
      isOnPath = step !== undefined && indexes[along - 1] === step
      continue
    }
    const to = endOfString(json, at)
    if (to < 0) return []
    isOnPath = step !== undefined && isKey(json, at, to, step)
    at = afterSpace(json, to)
    if (json[at] !== colon) return []
    at = afterSpace(json, at + 1)
  }
}

function larger(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const twice = new Uint8Array(2 * bytes.length)
  twice.set(bytes)
  return twice
}

/** Whether the string between these quotes is this key, escaped or not. */
function isKey(json: Buffer, from: number, to: number, key: string | number): boolean {
  if (typeof key !== 'string') return false
  const text = json.toString('utf8', from, to)
  if (text.includes('\\')) return JSON.parse(text) === key
  return text.length === key.length + 2 && text.startsWith(key, 1)
}
