import { isUtf8 } from 'node:buffer'
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
  /** The same with line breaks, and the lines of a blob in short pieces. V8 keeps strings of megabytes for
   *  long: written in lines, a blob of 100 MB took 110 MB more. */
  text(record: StoreRecord | UnreadableRecord): Generator<string>
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
      count(record)
      if (record.kind === 'blob') yield* blobLines(record)
      else yield JSON.stringify(record)
    },
    *text(record) {
      count(record)
      if (record.kind === 'blob') yield* blobPieces(record)
      else yield `${JSON.stringify(record)}\n`
    },
    end: () => {
      // In a fixed order, so that the same records make the same line.
      const inOrder = Object.fromEntries(kinds.flatMap(kind => (counts[kind] ? [[kind, counts[kind]]] : [])))
      return JSON.stringify({ kind: 'end', records, counts: inOrder } satisfies EndLine)
    },
  }

  function count({ kind }: StoreRecord | UnreadableRecord): void {
    if (kind === 'unreadable') return
    counts[kind] = (counts[kind] ?? 0) + 1
    records++
  }
}

function* blobLines(record: BlobRecord): Generator<string> {
  let line = ''
  for (const piece of blobPieces(record)) {
    if (piece !== '\n') line += piece
    else {
      yield line
      line = ''
    }
  }
}

/** The text of the lines. The break at the end of a line is a piece of its own. */
function* blobPieces({ hash, data }: BlobRecord): Generator<string> {
  const cuts = cutsOf(data, blobPartBytes)
  const parts = cuts.length
  let from = 0
  for (const [part, to] of cuts.entries()) {
    const content = data.subarray(from, to)
    const which = parts === 1 ? {} : { part, parts }
    const fields = JSON.stringify({ kind: 'blob', hash, bytes: data.length, ...which }).slice(0, -1)
    // As text if it is UTF-8, so that it is readable.
    const isText = isUtf8(content)
    yield `${fields},"${isText ? 'text' : 'base64'}":"`
    yield* isText ? jsonPieces(content) : base64Pieces(content)
    yield '"}'
    yield '\n'
    from = to
  }
}

/** Bytes of a piece: a multiple of three, so that base64 can be joined. */
const pieceBytes = 49_152

function* jsonPieces(text: Uint8Array): Generator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let from = 0
  for (const to of cutsOf(text, pieceBytes)) {
    yield JSON.stringify(decoder.decode(text.subarray(from, to))).slice(1, -1)
    from = to
  }
}

function* base64Pieces({ buffer, byteOffset, length }: Uint8Array): Generator<string> {
  for (let at = 0; at < length; at += pieceBytes)
    yield Buffer.from(buffer, byteOffset + at, Math.min(pieceBytes, length - at)).toString('base64')
}

/** Cuts bytes into parts and returns their ends. A cut moves back to the start of a character, so that text
 *  stays text. */
function cutsOf(data: Uint8Array, most: number): number[] {
  const cuts: number[] = []
  for (let at = most; at < data.length; at = cuts.at(-1)! + most) {
    let cut = at
    while (cut > at - 4 && (data[cut]! & 0xc0) === 0x80) cut--
    cuts.push(cut > at - 4 ? cut : at)
  }
  return [...cuts, data.length]
}
