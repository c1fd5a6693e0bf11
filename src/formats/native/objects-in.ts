import { isPlainObject, type JsonObject } from '../../core/json.ts'

/** The contents of one line: normally one object. */
export interface Objects {
  readonly objects: readonly JsonObject[]
  /** The fault of the line, if it has one. */
  readonly torn: string | null
}

/** The start of a record. Inside a string, its quotes would be escaped. */
const beginning = '{"kind":"'

/** The most starts that are tried in a torn line. */
const mostBeginnings = 16

/** Reads a line, including one that a crash damaged: runs of NUL where blocks were never written, two lines
 *  joined together, the end of one line after half of another. Returns every whole object in it. */
export function objectsIn(text: string): Objects {
  if (!text.includes('\0')) {
    const whole = parsed(text)
    if (whole) return { objects: [whole], torn: null }
    const { objects } = salvage(text)
    return { objects, torn: reasonFor(text, objects.length) }
  }
  const pieces = text.split(/\0+/).filter(piece => piece.trim() !== '')
  const objects = pieces.flatMap(piece => {
    const whole = parsed(piece)
    return whole ? [whole] : salvage(piece).objects
  })
  const nuls = text.length - pieces.reduce((sum, piece) => sum + piece.length, 0)
  return { objects, torn: `the line has ${nuls} NUL bytes${found(objects.length)}` }
}

/** Takes the first start from which a whole object reaches to the next start or to the end, and repeats from
 *  there. */
function salvage(text: string): { readonly objects: JsonObject[] } {
  const starts: number[] = []
  for (let at = text.indexOf(beginning); at >= 0 && starts.length < mostBeginnings; ) {
    starts.push(at)
    at = text.indexOf(beginning, at + 1)
  }
  const ends = [...starts, text.length]
  const objects: JsonObject[] = []
  for (let i = 0; i < starts.length; ) {
    const taken = ends.findIndex((end, j) => {
      if (j <= i) return false
      const object = parsed(text.slice(starts[i], end))
      if (object) objects.push(object)
      return object !== null
    })
    i = taken < 0 ? i + 1 : taken
  }
  return { objects }
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isPlainObject(value) ? value : null
  } catch {
    return null
  }
}

function reasonFor(text: string, count: number): string {
  return text.startsWith('{') || count > 0 ? `the line is torn${found(count)}` : 'the line is no JSON object'
}

function found(count: number): string {
  if (count === 0) return ''
  return count === 1 ? ', one record in it was whole' : `, ${count} records in it were whole`
}
