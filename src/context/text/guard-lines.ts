/** Prevents stored text from being mistaken for a label or the fence when a conversation is written as one
 *  text. A line that looks like a label or the fence gets one leading backslash; a fence inside a line gets
 *  it directly before. Existing backslashes are kept, so that removing one restores the stored text.
 *  Everything else stays byte for byte.
 *
 *  A label or fence is recognized in any case; in full-width or other compatibility forms; with accents;
 *  after, or mixed with, blanks, control and invisible characters; in Markdown emphasis, heading or
 *  quotation; with blanks around the colon or within the tag, and with attributes. Similar letters of other
 *  scripts are not recognized. A line ends at LF, CR, VT, FF, FS to RS, NEL, LS and PS. */

/** The name of the fence around a conversation. */
export const fence = 'conversation_history'

/** The labels at the beginning of our lines. `Human` is never written, but models know it. */
const label = /^[ *_#>`~]*(?:user|assistant|system|tool|human|previous conversation summary)[ *_#>`~]*[:∶꞉ː]/
const fences = /[<‹〈⟨] *\/? *conversation[-_ ]*history/g
/** The remarks after our labels. */
const remark = /^ *\[ *(?:used tools|attached) *:/
/** Characters that look like a colon or an opening bracket. A line without them needs no guard. */
const marks = /[:ː∶꞉⩴︓﹕：𐞁<‹≮〈⟨〈︿﹤＜]/u

const lineEnds = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029'
const lines = new RegExp(`([^${lineEnds}]*)(\r\n|[${lineEnds}]|$)`, 'g')

/** Guards a text that follows a label on the same line. */
export function guardAfterLabel(text: string): string {
  return guardLines(text, remark)
}

/** Guards a text that begins on a new line. */
export function guardLine(text: string): string {
  return guardLines(text, label)
}

function guardLines(text: string, first: RegExp): string {
  if (!marks.test(text)) return text
  const read = reader()
  let begin = first
  return text.replaceAll(lines, (whole: string, line: string, end: string) => {
    const guarded = marks.test(line) ? guard(line, begin, read) : line
    begin = label
    return guarded === line ? whole : guarded + end
  })
}

function guard(line: string, begin: RegExp, read: (line: string) => Legible): string {
  const backslashes = /^\\*/.exec(line)![0].length
  const { text, from } = read(line.slice(backslashes))
  const opens = begin.test(text)
  const tags = [...text.matchAll(fences)].map(({ index }) => index)
  const leading = opens || (begin === label && tags[0] !== undefined && text.slice(0, tags[0]).trim() === '')
  const inner = leading && !opens ? tags.slice(1) : tags
  const cuts = inner.map(index => backslashes + from(index))
  const guarded = cuts.reduceRight((rest, at) => `${rest.slice(0, at)}\\${rest.slice(at)}`, line)
  return leading ? `\\${guarded}` : guarded
}

interface Legible {
  /** Lower case, plain letters, without invisible characters. */
  readonly text: string
  /** The index in the original of a character of `text`. */
  from(index: number): number
}

/** Normalizes lines. Caches each character, because normalizing is slow. */
function reader(): (line: string) => Legible {
  const known = new Map<string, string>()
  return line => {
    if (/^[\x20-\x7e]*$/.test(line)) return { text: line.toLowerCase(), from: index => index }
    let text = ''
    const places: number[] = []
    let place = 0
    for (const character of line) {
      let part = known.get(character)
      if (part === undefined) {
        part = readAs(character)
        known.set(character, part)
      }
      text += part
      for (let i = 0; i < part.length; i++) places.push(place)
      place += character.length
    }
    return { text, from: index => places[index]! }
  }
}

function readAs(character: string): string {
  if (/\s/u.test(character)) return ' '
  const parts = [...character.normalize('NFKD').toLowerCase()]
  return parts.map(part => (/\s/u.test(part) ? ' ' : isInvisible(part) ? '' : part)).join('')
}

function isInvisible(character: string): boolean {
  return /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{M}]/u.test(character)
}
