import fc from 'fast-check'

/** A JSON value in any notation: duplicate keys, numbers of any size, escapes and white space anywhere. */
export type Written =
  | { readonly type: 'scalar'; readonly text: string }
  | { readonly type: 'array'; readonly elements: readonly Element[] }
  | { readonly type: 'object'; readonly members: readonly Member[] }

interface Element {
  readonly before: string
  readonly value: Written
  readonly after: string
}

interface Member extends Element {
  readonly key: string
  /** The key as it is written, with its quotes. */
  readonly written: string
  readonly colon: string
}

export type Path = readonly (string | number)[]

/** A value in a printed text: its path, and its bytes. */
export interface Place {
  readonly path: Path
  readonly from: number
  readonly to: number
}

const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 2 })
const letters = fc.constantFrom(
  'a',
  'b',
  '"',
  '\\',
  '/',
  '\n',
  '\u0000',
  'é',
  '\u2028',
  '🧶',
  '{',
  ']',
  ',',
  ':',
)

/** Few keys, so that many are duplicates; some look like syntax or a number, or are members of every
 *  object. */
const keys = fc.constantFrom('a', 'b', 'id', '', '0', 'é🧶', '"', 'a\\b', '__proto__', 'toString')

/** A string with some letters escaped unnecessarily. */
function written(text: string): fc.Arbitrary<string> {
  return fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map(escaped => `"${[...text].map((letter, at) => asWritten(letter, escaped[at]!)).join('')}"`)
}

function asWritten(letter: string, byNumber: boolean): string {
  if (!byNumber) return JSON.stringify(letter).slice(1, -1)
  return letter.replaceAll(/[\s\S]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const scalar = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '0', '-0', '-0.5e-7', '1E+400', '12345678901234567890.10'),
  fc.string({ unit: letters, maxLength: 6 }).chain(written),
)

const around = { before: space, after: space }

const { value } = fc.letrec<{ value: Written }>(tie => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    scalar.map((text): Written => ({ type: 'scalar', text })),
    fc
      .array(fc.record({ ...around, value: tie('value') }), { maxLength: 4 })
      .map((elements): Written => ({ type: 'array', elements })),
    fc
      .array(
        keys.chain(key =>
          fc.record({
            ...around,
            key: fc.constant(key),
            written: written(key),
            colon: space.map(text => `${text}:`),
            value: tie('value'),
          }),
        ),
        { maxLength: 5 },
      )
      .map((members): Written => ({ type: 'object', members })),
  ),
}))

/** A text, and the span of each of its values, as the printer reports them. */
export interface Printed {
  readonly root: Written
  readonly text: string
  readonly places: readonly Place[]
}

export const texts: fc.Arbitrary<Printed> = fc.tuple(space, value, space).map(([before, root, after]) => {
  const places: Place[] = []
  const inner = print(root, [], Buffer.byteLength(before), places)
  return { root, text: before + inner + after, places }
})

export const objects: fc.Arbitrary<Printed> = texts.filter(({ root }) => root.type === 'object')

function print(one: Written, path: Path, from: number, places: Place[]): string {
  const text = one.type === 'scalar' ? one.text : printHolder(one, path, from, places)
  places.push({ path, from, to: from + Buffer.byteLength(text) })
  return text
}

function printHolder(
  one: Exclude<Written, { type: 'scalar' }>,
  path: Path,
  from: number,
  places: Place[],
): string {
  const isObject = one.type === 'object'
  const parts: readonly (Element | Member)[] = isObject ? one.members : one.elements
  let text = isObject ? '{' : '['
  for (const [index, part] of parts.entries()) {
    text += `${index > 0 ? ',' : ''}${part.before}`
    if ('key' in part) text += `${part.written}${part.colon}`
    const step = 'key' in part ? part.key : index
    text += print(part.value, [...path, step], from + Buffer.byteLength(text), places) + part.after
  }
  return text + (isObject ? '}' : ']')
}
