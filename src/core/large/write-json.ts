import type { Json, JsonObject } from '../json.ts'
import type { Stepwise } from './stepwise.ts'
import { weightOf } from './weight.ts'

/** Characters of JSON between two pauses. Writing so many takes about 1 ms. */
const piece = 262_144

/** Takes the pieces of a text as they are written. */
export type PieceSink = (text: string) => void

/** Writes the text that `JSON.stringify` returns, in pieces. The value must not change meanwhile, and must
 *  have passed the checks of a message. */
export function* writeJson(value: Json, write: PieceSink): Stepwise<void> {
  if (typeof value !== 'object' || value === null || weightOf(value, piece) <= piece) {
    write(JSON.stringify(value))
    yield
  } else if (Array.isArray(value)) yield* writeList(value, write)
  else yield* writeObject(value as JsonObject, write)
}

/** The length of that text. */
export function* jsonLength(value: Json): Stepwise<number> {
  let length = 0
  yield* writeJson(value, text => {
    length += text.length
  })
  return length
}

/** Members that are large are written by themselves, and the others between them together. */
function* writeList(list: readonly Json[], write: PieceSink): Stepwise<void> {
  let start = 0
  let weight = 0
  write('[')
  for (const [i, member] of list.entries()) {
    const own = weightOf(member, piece)
    if (i > start && weight + own > piece) {
      writeTogether(list.slice(start, i), start)
      start = i
      weight = 0
      yield
    }
    weight += own
    if (own <= piece) continue
    if (i > 0) write(',')
    yield* writeJson(member, write)
    start = i + 1
    weight = 0
  }
  if (start < list.length) writeTogether(list.slice(start), start)
  write(']')
  yield

  function writeTogether(members: readonly Json[], from: number): void {
    write(`${from > 0 ? ',' : ''}${JSON.stringify(members).slice(1, -1)}`)
  }
}

function* writeObject(object: JsonObject, write: PieceSink): Stepwise<void> {
  let members: JsonObject = Object.create(null)
  let weight = 0
  let isFirst = true
  write('{')
  for (const [key, member] of Object.entries(object)) {
    const own = weightOf(member, piece) + key.length
    if (weight > 0 && weight + own > piece) yield* flush()
    if (own <= piece) {
      Object.defineProperty(members, key, { value: member, enumerable: true })
      weight += own
      continue
    }
    write(`${isFirst ? '' : ','}${JSON.stringify(key)}:`)
    isFirst = false
    yield* writeJson(member, write)
  }
  if (weight > 0) yield* flush()
  write('}')
  yield

  function* flush(): Stepwise<void> {
    write(`${isFirst ? '' : ','}${JSON.stringify(members).slice(1, -1)}`)
    isFirst = false
    members = Object.create(null)
    weight = 0
    yield
  }
}
