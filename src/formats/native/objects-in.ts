import { isPlainObject, type JsonObject } from '../../core/json.ts'

/** What one line holds: mostly one object. */
export interface Objects {
  readonly objects: readonly JsonObject[]
  /** What is wrong with the line, if something is. */
  readonly torn: string | null
}

/** Where a record begins. In a string its quotes would stand behind backslashes. */
const beginning = '{"kind":"'

/** Beginnings that are tried in a line that is torn. */
const mostBeginnings = 16

/** Reads a line, also one that a crash has left: runs of NUL where blocks were never written, two lines glued together, the
 *  end of one behind half of another. What is whole in it comes out. */
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

/** Takes the first beginning from which a whole object reaches to the next beginning, or to the end; and so on. */
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
