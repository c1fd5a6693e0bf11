import { isNonEmpty } from './message.ts'
import type { Mover } from './ports.ts'
import type { StoredBlob, StoredKind, StoredRecord, WrittenRecord } from './stored.ts'

/** A record and where it came from, for whoever is told about it: a line of a file, for example. */
export interface SourcedRecord {
  readonly record: StoredRecord
  readonly file: string
  readonly line: number
}

/** How many records of each kind had each outcome. */
export type Tally = Readonly<Record<WrittenRecord['outcome'], Partial<Record<StoredKind, number>>>>

export interface TakeInOptions {
  /** Called for each record that was refused, or taken otherwise than it says. */
  readonly onSpecial?: (from: SourcedRecord, written: WrittenRecord) => void
  /** Called after each transaction, with the records written so far. */
  readonly onProgress?: (records: number) => void
  readonly signal?: AbortSignal
}

/** What one transaction takes at most: others wait for it to end. */
const mostRecords = 1_000
const mostBytes = 4_194_304

/** Blobs that wait for their message. A file with more of them in a row has none for the first ones. */
const mostWaitingBytes = 1_073_741_824

/** Writes a stream of records into a store, a part at a time. If it is stopped in the middle, doing it all again ends in
 *  the same. A blob goes with the message behind it, because a store keeps none that nobody refers to. */
export async function takeIn(
  mover: Pick<Mover, 'writeStored'>,
  records: AsyncIterable<SourcedRecord>,
  { onSpecial, onProgress, signal }: TakeInOptions = {},
): Promise<Tally> {
  const tally: Tally = { added: {}, present: {}, advanced: {}, refused: {} }
  let batch: SourcedRecord[] = []
  let bytes = 0
  let blobs: (SourcedRecord & { readonly record: StoredBlob })[] = []
  let blobBytes = 0
  let written = 0

  for await (const one of records) {
    const { record } = one
    if (record.kind === 'blob') {
      blobs.push({ ...one, record })
      blobBytes += record.data.length
      if (blobBytes > mostWaitingBytes) await write(dropBlobs())
      continue
    }
    const size = sizeOf(record) + blobBytes
    if (batch.length > 0 && (batch.length + blobs.length >= mostRecords || bytes + size > mostBytes))
      await flush()
    batch.push(...dropBlobs(), one)
    bytes += size
  }
  batch.push(...dropBlobs())
  await flush()
  return tally

  function dropBlobs(): readonly SourcedRecord[] {
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
    const outcomes = await mover.writeStored(list)
    for (const [i, outcome] of outcomes.entries()) {
      const { kind } = list[i]!
      const counts = tally[outcome.outcome]
      counts[kind] = (counts[kind] ?? 0) + 1
      if (outcome.outcome === 'refused' || outcome.note !== null) onSpecial?.(some[i]!, outcome)
    }
    written += list.length
    onProgress?.(written)
  }
}

/** Roughly: what makes a record large is its text. Not yet checked, so nothing is believed of it. */
function sizeOf(record: Exclude<StoredRecord, StoredBlob>): number {
  switch (record.kind) {
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
