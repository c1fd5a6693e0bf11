import type { BlobRecord, RecordKind, StoreRecord, UnreadableRecord } from '../../core/record.ts'
import {
  blobPartBytes,
  type EndLine,
  fieldsOf,
  type HeaderLine,
  nativeFormat,
  nativeVersion,
} from './format.ts'

/** Encodes the lines of one file, in order, without line breaks, and counts the records. */
export interface NativeEncoder {
  header(writtenAt: number, by: string): string
  /** One line; several for a large blob. Unreadable data gets a line too, so that the file reports it. */
  record(record: StoreRecord | UnreadableRecord): Generator<string>
  end(): string
}

const kinds = Object.keys(fieldsOf) as RecordKind[]

export function nativeEncoder(): NativeEncoder {
  const counts: Partial<Record<RecordKind, number>> = {}
  let records = 0
  return {
    header: (writtenAt, by) => {
      const version = `${nativeVersion.major}.${nativeVersion.minor}`
      return JSON.stringify({
        kind: 'header',
        format: nativeFormat,
        version,
        writtenAt,
        by,
      } satisfies HeaderLine)
    },
    *record(record) {
      if (record.kind !== 'unreadable') {
        counts[record.kind] = (counts[record.kind] ?? 0) + 1
        records++
      }
      if (record.kind === 'blob') yield* blobLines(record)
      else yield JSON.stringify(record)
    },
    end: () => {
      // In a fixed order, so that the same records make the same line.
      const inOrder = Object.fromEntries(kinds.flatMap(kind => (counts[kind] ? [[kind, counts[kind]]] : [])))
      return JSON.stringify({ kind: 'end', records, counts: inOrder } satisfies EndLine)
    },
  }
}

function* blobLines({ hash, data }: BlobRecord): Generator<string> {
  const cuts = cutsOf(data)
  const parts = cuts.length
  let from = 0
  for (const [part, to] of cuts.entries()) {
    const which = parts === 1 ? {} : { part, parts }
    yield JSON.stringify({
      kind: 'blob',
      hash,
      bytes: data.length,
      ...which,
      ...contentOf(data.subarray(from, to)),
    })
    from = to
  }
}

/** The ends of the parts. A cut moves back to the start of a character, so that text stays text. */
function cutsOf(data: Uint8Array): number[] {
  const cuts: number[] = []
  for (let at = blobPartBytes; at < data.length; at = cuts.at(-1)! + blobPartBytes) {
    let cut = at
    while (cut > at - 4 && (data[cut]! & 0xc0) === 0x80) cut--
    cuts.push(cut > at - 4 ? cut : at)
  }
  return [...cuts, data.length]
}

/** As text if it is UTF-8, so that it is readable. */
function contentOf(data: Uint8Array): { readonly text: string } | { readonly base64: string } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data) }
  } catch {
    return { base64: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64') }
  }
}
