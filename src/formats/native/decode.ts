import { InvalidError } from '../../core/errors.ts'
import { isPlainObject, type JsonObject } from '../../core/json.ts'
import type { RecordKind, StoreRecord } from '../../core/record.ts'
import { type BlobLine, blobJoiner } from './blob-joiner.ts'
import { fieldsOf, nativeFormat, nativeVersion } from './format.ts'
import type { Line } from './split-lines.ts'

/** A line of a native file that is damaged (`fault`: data is lost) or that a newer version added to (`note`:
 *  the addition was ignored). */
export type NativeProblem =
  | {
      readonly type: 'fault'
      /** The line in the file, from 1. */
      readonly line: number
      /** Why the line could not be read, for people. */
      readonly reason: string
    }
  | {
      readonly type: 'note'
      /** The line in the file, from 1. */
      readonly line: number
      /** The addition that was ignored, for people. */
      readonly text: string
    }

/** The result of a line. A record is as written in the file, unchecked: `writeRecords` checks it. */
export type Decoded =
  | { readonly type: 'record'; readonly line: number; readonly record: StoreRecord }
  | NativeProblem

export interface NativeDecoder {
  take(line: Line): Decoded[]
  /** Reports whether the file was complete. */
  end(): Decoded[]
}

/** Decodes lines, valid and damaged, of any number of concatenated files. Throws InvalidError for a file of a
 *  newer major version, whose meaning is unknown. */
export function nativeDecoder(): NativeDecoder {
  const blobs = blobJoiner()
  const noted = new Set<string>()
  let last = 0
  let isLastBad = false
  let section = newSection({ begun: false, minor: 0 })

  return {
    take(line) {
      last = line.number
      const taken = 'fault' in line ? fault(line.fault) : takeText(line.text)
      isLastBad = taken.some(({ type }) => type === 'fault')
      return taken
    },
    end() {
      const cut = cutBlob()
      if (last === 0) return fault('the file is empty')
      // A damaged last line is reported once.
      if (section.ended || (isLastBad && cut.length === 0)) return cut
      return [...cut, ...fault('the file is cut off: its last line is missing')]
    },
  }

  function takeText(text: string): Decoded[] {
    const { objects, torn } = objectsIn(text)
    return [...(torn === null ? [] : fault(torn)), ...objects.flatMap(takeObject)]
  }

  function takeObject(object: JsonObject): Decoded[] {
    const { kind } = object
    if (kind === 'header') return takeHeader(object)
    const before = [...missingHeader(), ...(kind === 'blob' ? [] : cutBlob())]
    return before.length > 0 ? [...before, ...takeRecord(object)] : takeRecord(object)
  }

  function takeRecord(object: JsonObject): Decoded[] {
    const { kind } = object
    if (kind === 'end') return takeEnd(object)
    if (kind === 'unreadable') return fault(unreadableText(object))
    if (typeof kind !== 'string' || !Object.hasOwn(fieldsOf, kind)) return unknownKind(kind)
    const notes = unknownFields(kind as RecordKind, object)
    const taken = kind === 'blob' ? takeBlob(object) : [record(object as unknown as StoreRecord)]
    return notes.length > 0 ? [...notes, ...taken] : taken
  }

  function takeHeader({ format, version }: JsonObject): Decoded[] {
    const [, major, minor] = /^(\d{1,6})\.(\d{1,6})$/.exec(String(version)) ?? []
    if (format !== nativeFormat || major === undefined) return fault('the first line is of another format')
    if (Number(major) > nativeVersion.major) {
      throw new InvalidError(
        'version',
        `the file has format ${version}, this program reads ${nativeVersion.major}: use a newer skein`,
      )
    }
    const cut = [
      ...cutBlob(),
      ...(section.begun && !section.ended ? fault('the file before this line is cut off') : []),
    ]
    section = newSection({ begun: true, minor: Number(minor) })
    return cut
  }

  function missingHeader(): Decoded[] {
    if (section.begun) return []
    section.begun = true
    return fault('the first line is missing: this may be no file of Skein')
  }

  function takeEnd({ records }: JsonObject): Decoded[] {
    section.ended = true
    if (section.lost || records === section.records) return []
    return fault(`${String(records).slice(0, 20)} records were written, ${section.records} are here`)
  }

  function takeBlob(object: JsonObject): Decoded[] {
    const { blob, fault: reason } = blobs.take(object as unknown as BlobLine)
    return [...(reason === null ? [] : fault(reason)), ...(blob === null ? [] : [record(blob)])]
  }

  function cutBlob(): Decoded[] {
    const reason = blobs.end()
    return reason === null ? [] : fault(reason)
  }

  function record(one: StoreRecord): Decoded {
    section.records++
    return { type: 'record', line: last, record: one }
  }

  function fault(reason: string): Decoded[] {
    // A loss is reported once, and not again by the count.
    section.lost = true
    return [{ type: 'fault', line: last, reason }]
  }

  function unknownKind(kind: unknown): Decoded[] {
    if (typeof kind !== 'string') return fault('the line has no kind')
    const name = JSON.stringify(kind.slice(0, 50))
    if (section.minor <= nativeVersion.minor) return fault(`there is no kind ${name}`)
    section.records++
    return note(`records of kind ${name} are not known`)
  }

  function unknownFields(kind: RecordKind, object: JsonObject): Decoded[] {
    const known = fieldsOf[kind]
    return Object.keys(object)
      .filter(field => !known.has(field))
      .flatMap(field => note(`the field ${JSON.stringify(field.slice(0, 50))} of a ${kind} is not known`))
  }

  function note(text: string): Decoded[] {
    if (noted.has(text) || noted.size >= mostNotes) return []
    noted.add(text)
    return [{ type: 'note', line: last, text: `${text}: passed over` }]
  }
}

/** The most distinct notes about unknown data: a file could contain another unknown name in each line. */
const mostNotes = 100

/** One of the concatenated files. */
interface Section {
  begun: boolean
  ended: boolean
  readonly minor: number
  records: number
  /** Whether a part of it could not be read. */
  lost: boolean
}

function newSection({ begun, minor }: Pick<Section, 'begun' | 'minor'>): Section {
  return { begun, ended: false, minor, records: 0, lost: false }
}

function unreadableText({ what, reason }: JsonObject): string {
  return `${String(what).slice(0, 200)} could not be read when the file was written: ${String(reason).slice(0, 200)}`
}

/** The contents of one line: normally one object. */
interface LineObjects {
  readonly objects: readonly JsonObject[]
  /** The fault of the line, if it has one. */
  readonly torn: string | null
}

/** The start of a record. Inside a string, its quotes would be escaped. */
const beginning = '{"kind":"'

/** The most starts that are tried in a torn line. */
const mostBeginnings = 16

/** Reads a line, including one that a crash damaged: runs of NUL where blocks were never written, two lines
 *  joined together, the end of one line after half of another. Returns every whole object in it. */
function objectsIn(text: string): LineObjects {
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

/** Takes the first start from which a whole object reaches to the next start or to the end, and repeats from
 *  there. */
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
  return text.startsWith('{') || count > 0
    ? `the line is not complete JSON${found(count)}`
    : 'the line is not a JSON object'
}

function found(count: number): string {
  if (count === 0) return ''
  return count === 1 ? ', one record in it was whole' : `, ${count} records in it were whole`
}
