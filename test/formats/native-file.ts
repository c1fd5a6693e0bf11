import type { ConversationId } from '../../src/core/ids.ts'
import type { RecordMover, StoreRecord } from '../../src/core/record.ts'
import { type RecordTally, type SourcedRecord, takeIn } from '../../src/core/take-in.ts'
import { nativeDecoder } from '../../src/formats/native/decode.ts'
import { nativeEncoder } from '../../src/formats/native/encode.ts'
import { lineSplitter } from '../../src/formats/native/split-lines.ts'

/** All records of these conversations. Unreadable data fails the test. */
export async function recordsOf(
  mover: Pick<RecordMover, 'readRecords'>,
  ids: readonly ConversationId[],
): Promise<StoreRecord[]> {
  const records: StoreRecord[] = []
  for (const id of ids) {
    for await (const record of mover.readRecords(id)) {
      if (record.kind === 'unreadable') throw new Error(`${record.what}: ${record.reason}`)
      records.push(record.kind === 'blob' ? { ...record, data: Buffer.from(record.data) } : record)
    }
  }
  return records
}

/** A file of the native format with these records. */
export function fileOf(records: readonly StoreRecord[]): string {
  const encoder = nativeEncoder()
  const lines = [
    encoder.header(1_767_225_600_000, 'test'),
    ...records.flatMap(record => [...encoder.record(record)]),
    encoder.end(),
  ]
  return lines.map(line => `${line}\n`).join('')
}

export interface Taken {
  readonly tally: RecordTally
  /** Refused lines, with the reason. */
  readonly bad: readonly { readonly line: number; readonly reason: string }[]
  readonly notes: readonly string[]
}

/** Imports a file as the command does, from chunks of a size that splits lines and characters. */
export async function takeFile(
  mover: Pick<RecordMover, 'writeRecords'>,
  file: Uint8Array | string,
  { chunk = 997, longestLine }: { readonly chunk?: number; readonly longestLine?: number } = {},
): Promise<Taken> {
  const bytes = typeof file === 'string' ? Buffer.from(file) : file
  const bad: { line: number; reason: string }[] = []
  const notes: string[] = []
  const tally = await takeIn(mover, records(), {
    onSpecial: ({ line }, written) => {
      if (written.outcome === 'refused') bad.push({ line, reason: written.reason })
      else notes.push(written.note ?? '')
    },
  })
  return { tally, bad, notes }

  async function* records(): AsyncGenerator<SourcedRecord> {
    const splitter = lineSplitter(longestLine)
    const decoder = nativeDecoder()
    const lines = function* () {
      for (let at = 0; at < bytes.length; at += chunk) yield* splitter.push(bytes.subarray(at, at + chunk))
      yield* splitter.end()
    }
    const decoded = function* () {
      for (const line of lines()) yield* decoder.take(line)
      yield* decoder.end()
    }
    for (const one of decoded()) {
      if (one.type === 'record') yield { ...one, file: '' }
      else if (one.type === 'fault') bad.push({ line: one.line, reason: one.reason })
      else notes.push(one.text)
    }
  }
}
