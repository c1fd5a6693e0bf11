import { checkIterable, checkMethod } from './check.ts'
import { isNonEmpty } from './message.ts'
import type { RecordKind, RecordMover, RecordOutcome, StoreRecord } from './record.ts'

/** A record and its origin, for reports. */
export interface SourcedRecord {
  /** The record as it was read. */
  readonly record: StoreRecord
  /** The name of the file. */
  readonly file: string
  /** The line in that file, from 1. */
  readonly line: number
}

/** How many records of each kind had each outcome. */
export type RecordTally = Readonly<Record<RecordOutcome['outcome'], Partial<Record<RecordKind, number>>>>

/** How to follow a transfer of records. */
export interface TakeInOptions {
  /** Called for each record that was refused or changed. */
  readonly onSpecial?: (from: SourcedRecord, written: RecordOutcome) => void
  /** Called after each transaction, with the records written so far. */
  readonly onProgress?: (records: number) => void
  /** Stops between two transactions. */
  readonly signal?: AbortSignal
}

/** Limits of one transaction, because other writers wait for it, and the process of an SQLite store: about 35
 *  ms. */
const mostRecords = 1_000
const mostBytes = 2_097_152

/** Most bytes of blobs that wait for their message. If a file has more of them in a row, the message of the
 *  first ones is missing. */
const mostWaitingBytes = 1_073_741_824

/** Limits of the refused records that are kept for a second try. */
const mostHeld = 20_000
const mostHeldBytes = 67_108_864

/** Writes a stream of records into a store in batches. After an interruption, the same stream can be
 *  written again with the same result. A blob is written together with the next message, because a store
 *  accepts no blob without a reference. Refused records are tried again at the end: a record that they
 *  refer to may have come later.
 *
 * @example
 * ```ts
 * import { openStore } from 'skein'
 * import { takeIn } from 'skein/formats'
 *
 * await using from = await openStore(':memory:')
 * await using to = await openStore(':memory:')
 * const { conversation, branch } = await from.create()
 * await from.append(branch, null, [{ role: 'user', content: 'Hi' }])
 *
 * // Copies a conversation from one store into another, as `skein copy` does.
 * async function* records() {
 *   for await (const record of from.readRecords(conversation.id))
 *     if (record.kind !== 'unreadable') yield { record, file: 'from', line: 0 }
 * }
 * const { added, present } = await takeIn(to, records())
 * console.log(added.message, present.message) // 1 undefined
 * console.log((await takeIn(to, records())).present.message) // 1
 * ```
 */
export async function takeIn(
  mover: Pick<RecordMover, 'writeRecords'>,
  records: AsyncIterable<SourcedRecord>,
  { onSpecial, onProgress, signal }: TakeInOptions = {},
): Promise<RecordTally> {
  checkMethod(mover, 'store', 'writeRecords', 'a store')
  checkIterable(records, 'records')
  const tally: RecordTally = { added: {}, present: {}, advanced: {}, refused: {} }
  let batch: SourcedRecord[] = []
  let bytes = 0
  let blobs: SourcedRecord[] = []
  let blobBytes = 0
  let held: Refused[] = []
  let heldBytes = 0
  let written = 0
  /** The transaction that is being written while the next records are read. */
  let writing: Promise<void> = Promise.resolve()

  try {
    for await (const one of records) {
      const size = sizeOf(one.record)
      if (one.record.kind === 'blob') {
        blobs.push(one)
        blobBytes += size
        if (blobBytes > mostWaitingBytes) {
          await writing
          await write(takeBlobs())
        }
        continue
      }
      const isFull = batch.length + blobs.length >= mostRecords || bytes + blobBytes + size > mostBytes
      if (batch.length > 0 && isFull) await flush()
      bytes += blobBytes + size
      batch.push(...takeBlobs(), one)
    }
    batch.push(...takeBlobs())
    await flush()
    await writing
    await retry()
  } finally {
    await writing.catch(() => {})
  }
  return tally

  function takeBlobs(): readonly SourcedRecord[] {
    const waiting = blobs
    blobs = []
    blobBytes = 0
    return waiting
  }

  /** Begins to write the batch, when the one before it is written. Large ones are not kept in memory while
   *  others are read. */
  async function flush(): Promise<void> {
    const full = batch
    const isLarge = bytes > mostBytes
    batch = []
    bytes = 0
    await writing
    writing = write(full)
    if (isLarge) await writing
    // An error is thrown where the result is awaited.
    else writing.catch(() => {})
  }

  async function write(some: readonly SourcedRecord[]): Promise<void> {
    signal?.throwIfAborted()
    const list = some.map(({ record }) => record)
    if (!isNonEmpty(list)) return
    for (const [i, outcome] of (await mover.writeRecords(list)).entries()) settle(some[i]!, outcome)
    written += list.length
    onProgress?.(written)
  }

  function settle(from: SourcedRecord, outcome: RecordOutcome): void {
    if (outcome.outcome === 'refused') {
      const size = sizeOf(from.record)
      if (held.length < mostHeld && heldBytes + size <= mostHeldBytes) {
        held.push({ from, outcome })
        heldBytes += size
        return
      }
    }
    count(from, outcome)
  }

  function count(from: SourcedRecord, outcome: RecordOutcome): void {
    const counts = tally[outcome.outcome]
    const { kind } = from.record
    counts[kind] = (counts[kind] ?? 0) + 1
    if (outcome.outcome === 'refused' || outcome.note !== null) onSpecial?.(from, outcome)
  }

  /** Retries as long as at least one refused record is accepted. */
  async function retry(): Promise<void> {
    for (let before = Number.POSITIVE_INFINITY; held.length > 0 && held.length < before; ) {
      before = held.length
      const again = held
      held = []
      heldBytes = 0
      for (let at = 0; at < again.length; at += mostRecords) {
        await write(again.slice(at, at + mostRecords).map(({ from }) => from))
      }
    }
    for (const { from, outcome } of held) count(from, outcome)
  }
}

interface Refused {
  readonly from: SourcedRecord
  readonly outcome: RecordOutcome
}

/** An estimate: text makes a record large. The record is not checked yet, so its types are unknown. */
function sizeOf(record: StoreRecord): number {
  switch (record.kind) {
    case 'blob':
      return 400 + record.data.length
    case 'message':
      return 400 + lengthOf(record.body)
    case 'draft':
    case 'summary':
      return 400 + lengthOf(record.text)
    case 'event':
      return 200 + JSON.stringify(record.data ?? null).length
    case 'conversation':
      return 1_000 + JSON.stringify([record.prompt, record.metadata]).length
    case 'task':
      return 1_000 + JSON.stringify(record).length
    default:
      return 1_000
  }
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? text.length : 0
}
