import { isNonEmpty } from './message.ts'
import type { RecordMover } from './ports.ts'
import type { RecordKind, RecordOutcome, StoreRecord } from './record.ts'

/** A record and where it came from, for whoever is told about it: a line of a file, for example. */
export interface SourcedRecord {
  readonly record: StoreRecord
  readonly file: string
  readonly line: number
}

/** How many records of each kind had each outcome. */
export type RecordTally = Readonly<Record<RecordOutcome['outcome'], Partial<Record<RecordKind, number>>>>

export interface TakeInOptions {
  /** Called for each record that was refused, or taken otherwise than it says. */
  readonly onSpecial?: (from: SourcedRecord, written: RecordOutcome) => void
  /** Called after each transaction, with the records written so far. */
  readonly onProgress?: (records: number) => void
  readonly signal?: AbortSignal
}

/** What one transaction takes at most: others wait for it to end. */
const mostRecords = 2_000
const mostBytes = 4_194_304

/** Blobs that wait for their message. A file with more of them in a row has none for the first ones. */
const mostWaitingBytes = 1_073_741_824

/** Refused records that are held for a second try, and their bytes. */
const mostHeld = 20_000
const mostHeldBytes = 67_108_864

/** Writes a stream of records into a store, a part at a time. If it is stopped in the middle, doing it all again ends in
 *  the same. A blob goes with the message behind it, because a store keeps none that nobody refers to. What is refused is
 *  tried again at the end: what it needs may have stood behind it. */
export async function takeIn(
  mover: Pick<RecordMover, 'writeRecords'>,
  records: AsyncIterable<SourcedRecord>,
  { onSpecial, onProgress, signal }: TakeInOptions = {},
): Promise<RecordTally> {
  const tally: RecordTally = { added: {}, present: {}, advanced: {}, refused: {} }
  let batch: SourcedRecord[] = []
  let bytes = 0
  let blobs: SourcedRecord[] = []
  let blobBytes = 0
  let held: Refused[] = []
  let heldBytes = 0
  let written = 0

  for await (const one of records) {
    const size = sizeOf(one.record)
    if (one.record.kind === 'blob') {
      blobs.push(one)
      blobBytes += size
      if (blobBytes > mostWaitingBytes) await write(takeBlobs())
      continue
    }
    const isFull = batch.length + blobs.length >= mostRecords || bytes + blobBytes + size > mostBytes
    if (batch.length > 0 && isFull) await flush()
    bytes += blobBytes + size
    batch.push(...takeBlobs(), one)
  }
  batch.push(...takeBlobs())
  await flush()
  await retry()
  return tally

  function takeBlobs(): readonly SourcedRecord[] {
    const waiting = blobs
    blobs = []
    blobBytes = 0
    return waiting
  }

  async function flush(): Promise<void> {
    const full = batch
    batch = []
    bytes = 0
    await write(full)
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

  /** As long as something that was refused goes in, the rest may go in too. */
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

/** Roughly: what makes a record large is its text. Not yet checked, so nothing is believed of it. */
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
    default:
      return 1_000
  }
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? text.length : 0
}
