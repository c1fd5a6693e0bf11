import { piecesOf, utf8BytesOf } from '../../core/large/encode-text.ts'
import type { Stepwise } from '../../core/large/stepwise.ts'
import { finishInTurns } from '../../system/finish-in-turns.ts'
import type { KeptValue, StatementOfPart } from './blocking-work-thread.ts'
import type { Checkpoints } from './checkpoints.ts'

/** Longer texts and bytes are sent to the thread in pieces. Sending one of 30 MB at once would block for 30
 *  ms, and a text of that length has no room in the heap of the thread, where bytes are not. */
const longest = 65_536
const piece = 262_144

let keptValues = 0

/** The long parameters of a program, in the thread. */
export interface LongValues {
  /** A statement with numbers instead of the long values. */
  replaceIn(statement: StatementOfPart): StatementOfPart
  /** Frees their memory in the thread. */
  forget(): void
}

/** The long parameters of a statement. */
export function longValuesIn({ values }: StatementOfPart): readonly (string | Uint8Array)[] {
  return values.filter(value => typeof value === 'string' || value instanceof Uint8Array)
}

/** Sends long values to the thread, before a transaction if they have room there: it has to be short, because
 *  others wait for it. Without a thread, sends nothing. */
export async function sendLongValues(
  log: Pick<Checkpoints, 'thread'>,
  values: readonly (string | Uint8Array)[],
): Promise<LongValues> {
  const kept = new Map<unknown, KeptValue>()
  for (const value of values) {
    if (value.length > longest && !kept.has(value)) kept.set(value, await finishInTurns(keep(log, value)))
  }
  return {
    replaceIn({ sql, values }) {
      if (kept.size === 0) return { sql, values }
      let at = 0
      const isText = (value: unknown) => typeof value === 'string' && kept.has(value)
      const marked = sql.replaceAll('?', mark => (isText(values[at++]) ? `CAST(${mark} AS TEXT)` : mark))
      return { sql: marked, values: values.map(value => kept.get(value) ?? value) }
    },
    forget() {
      for (const value of kept.values()) log.thread()?.forgetInThread(value)
    },
  }
}

function* keep(log: Pick<Checkpoints, 'thread'>, value: string | Uint8Array): Stepwise<KeptValue> {
  const kept = ++keptValues
  const size = typeof value === 'string' ? yield* sizeOf(value) : value.length
  let at = 0
  for (const bytes of copiesOf(value)) {
    const { length } = bytes
    log.thread()?.keepInThread({ kept, size, at, bytes })
    at += length
    yield
  }
  return { kept }
}

function* sizeOf(text: string): Stepwise<number> {
  const size = yield* utf8BytesOf(text)
  if (size === null) throw new Error('a text for the thread has a lone surrogate')
  return size
}

/** Each copy has a buffer of its own. A `Buffer` may share one. */
function* copiesOf(value: string | Uint8Array): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  if (typeof value === 'string') for (const part of piecesOf(value)) yield encoder.encode(part)
  else for (let at = 0; at < value.length; at += piece) yield new Uint8Array(value.subarray(at, at + piece))
}
