import { InvalidError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { RecordKind, StoreRecord } from '../../core/record.ts'
import { type BlobLine, blobJoiner } from './blob-joiner.ts'
import { fieldsOf, nativeFormat, nativeVersion } from './format.ts'
import { objectsIn } from './objects-in.ts'
import type { Line } from './split-lines.ts'

/** The result of a line. */
export type Decoded =
  /** A record as written in the file, unchecked: `writeRecords` checks it. */
  | { readonly type: 'record'; readonly line: number; readonly record: StoreRecord }
  /** Data is lost. */
  | { readonly type: 'fault'; readonly line: number; readonly reason: string }
  /** An addition of a newer version was ignored. */
  | { readonly type: 'note'; readonly line: number; readonly text: string }

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
  let section = newSection({ begun: false, minor: 0 })

  return {
    take(line) {
      last = line.number
      return 'fault' in line ? fault(line.fault) : takeText(line.text)
    },
    end() {
      const cut = cutBlob()
      if (last === 0) return fault('the file is empty')
      return section.ended ? cut : [...cut, ...fault('the file is cut off: its last line is missing')]
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
