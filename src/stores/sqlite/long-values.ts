import { piecesOf, utf8Length } from '../../core/large/encode-text.ts'
import { finishInTurns, type Stepwise } from '../../core/large/stepwise.ts'
import type { BoundStatement, KeptValue } from './blocking-work-thread.ts'
import type { Checkpoints } from './checkpoints.ts'

/** Longer texts and bytes are sent to the thread in pieces. Sending one of 30 MB at once would block for 30 ms,
 *  and a text of that length has no room in the heap of the thread, where bytes are not. */
const longest = 65_536
const piece = 262_144

let keptValues = 0

/** Sends the long values of a statement to the thread, and returns the statement with their numbers instead.
 *  Sends nothing if there is no thread. */
export async function sendLongValues(
  log: Pick<Checkpoints, 'thread'>,
  { sql, values }: BoundStatement,
): Promise<BoundStatement> {
  if (!values.some(isLong)) return { sql, values }
  const short: unknown[] = []
  for (const value of values) short.push(isLong(value) ? await finishInTurns(keep(log, value)) : value)
  let at = 0
  const marked = sql.replaceAll('?', mark => (isLongText(values[at++]) ? `CAST(${mark} AS TEXT)` : mark))
  return { sql: marked, values: short }
}

function isLong(value: unknown): value is string | Uint8Array {
  return isLongText(value) || (value instanceof Uint8Array && value.length > longest)
}

function isLongText(value: unknown): value is string {
  return typeof value === 'string' && value.length > longest
}

function* keep(log: Pick<Checkpoints, 'thread'>, value: string | Uint8Array): Stepwise<KeptValue> {
  const kept = ++keptValues
  const size = typeof value === 'string' ? yield* sizeOf(value) : value.length
  let at = 0
  for (const bytes of copiesOf(value)) {
    const { length } = bytes
    log.thread()?.tellThread({ kept, size, at, bytes })
    at += length
    yield
  }
  return { kept }
}

function* sizeOf(text: string): Stepwise<number> {
  const size = yield* utf8Length(text)
  if (size === null) throw new Error('a text for the thread has a lone surrogate')
  return size
}

/** Each copy has a buffer of its own. A `Buffer` may share one. */
function* copiesOf(value: string | Uint8Array): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  if (typeof value === 'string') for (const part of piecesOf(value)) yield encoder.encode(part)
  else for (let at = 0; at < value.length; at += piece) yield new Uint8Array(value.subarray(at, at + piece))
}
