import { findSpans, type JsonPath, type JsonSpan } from './json-spans.ts'
import { afterSpace } from './json-tokens.ts'

/** A span of a text and its replacement. An empty span inserts. */
export interface JsonEdit {
  readonly span: JsonSpan
  readonly by: string
}

/** The text with these spans replaced, and every other byte unchanged. Spans must not overlap. Insertions at
 *  the same position keep their order. */
export function applyEdits(json: Buffer, edits: readonly JsonEdit[]): Buffer {
  if (edits.length === 0) return json
  const pieces: Buffer[] = []
  let at = 0
  for (const { span, by } of edits.toSorted((a, b) => a.span.from - b.span.from || a.span.to - b.span.to)) {
    if (span.from < at || span.to < span.from || span.to > json.length)
      throw new RangeError('the pieces of an edit overlap, or lie outside of the text')
    pieces.push(json.subarray(at, span.from), Buffer.from(by))
    at = span.to
  }
  pieces.push(json.subarray(at))
  return Buffer.concat(pieces)
}

/** The object with a member set to this JSON text. Missing objects on the path are created, other values on
 *  it are replaced. If a key occurs twice, both are set. A text that is not a JSON object stays unchanged. */
export function withMember(json: Buffer, path: readonly string[], value: string): Buffer {
  const [root] = findSpans(json, [])
  if (!root || !isObjectAt(json, root)) return json
  return applyEdits(json, settings(json, root, path, value))
}

function settings(
  json: Buffer,
  object: JsonSpan,
  path: readonly string[],
  value: string,
): readonly JsonEdit[] {
  const [key, ...rest] = path
  if (key === undefined) return [{ span: object, by: value }]
  const members = within(json, object, [key])
  if (members.length === 0) return [putFirst(json, object, [`${JSON.stringify(key)}:${nested(rest, value)}`])]
  return members.flatMap(span =>
    rest.length > 0 && isObjectAt(json, span)
      ? settings(json, span, rest, value)
      : [{ span, by: nested(rest, value) }],
  )
}

/** The array with these JSON texts before its elements. Without an array at the path, the text stays
 *  unchanged. */
export function withFirstElements(
  json: Buffer,
  path: readonly string[],
  elements: readonly string[],
): Buffer {
  if (elements.length === 0) return json
  const arrays = findSpans(json, path).filter(span => json[span.from] === 0x5b)
  return applyEdits(
    json,
    arrays.map(array => putFirst(json, array, elements)),
  )
}

/** Inserts after the bracket that opens a value. */
function putFirst(json: Buffer, holder: JsonSpan, texts: readonly string[]): JsonEdit {
  const at = holder.from + 1
  const isEmpty = afterSpace(json, at) === holder.to - 1
  return { span: { from: at, to: at }, by: isEmpty ? texts.join() : `${texts.join()},` }
}

function within(json: Buffer, { from, to }: JsonSpan, path: JsonPath): readonly JsonSpan[] {
  return findSpans(json.subarray(from, to), path).map(span => ({
    from: span.from + from,
    to: span.to + from,
  }))
}

function isObjectAt(json: Buffer, { from }: JsonSpan): boolean {
  return json[from] === 0x7b
}

function nested(path: readonly string[], value: string): string {
  return path.reduceRight((text, key) => `{${JSON.stringify(key)}:${text}}`, value)
}
