import type { AsTextOptions, TextMessage } from '../../../src/context/text/as-text.ts'

/** A message as a reader of the text understands it: role and content. */
export interface Heard {
  readonly role: string
  readonly text: string
}

/** A function that writes messages as one text. */
export type Writes = (messages: readonly TextMessage[], options?: AsTextOptions) => string

/** Invisible characters, and those that a reader skips: soft hyphen, zero widths, joiners, direction marks,
 *  BOM, control characters, accents. */
const unseen = '[\\p{Cc}\\p{Cf}\\p{Mn}\\p{Me}\\u115f\\u1160\\u3164\\uffa0\\u034f]*'
const blank = `(?:[\\p{Zs}\\t]|${unseen.slice(0, -1)})*`

/** A word in any case, plain or full-width, with any invisible characters between its letters. */
function word(letters: string): string {
  return [...letters]
    .map(letter => {
      if (letter === '_') return `[\\p{Zs}\\t_\\uff3f-]*`
      if (letter === ' ') return `[\\p{Zs}\\t]+`
      const wide = (character: string) => String.fromCharCode(character.charCodeAt(0) + 0xfee0)
      const upper = letter.toUpperCase()
      return `[${letter}${upper}${wide(letter)}${wide(upper)}]`
    })
    .join(unseen)
}

const marks = `(?:[*_#>\`~]|${blank})*`
const role = new RegExp(
  `^${marks}(${['user', 'assistant', 'system', 'tool', 'human'].map(word).join('|')})${marks}[:\\uff1a\\ufe55]`,
  'u',
)
const tag = `[<\\uff1c]${blank}[/\\uff0f]?${blank}${word('conversation_history')}`
const ends = '\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029'
const remark = `\\[${blank}(?:${word('used tools')}|${word('attached')})${blank}[:\uff1a\ufe55]`

/** Reads a text like a careful reader who knows its form, but not how it was made: lines that look like a
 *  label or the fence are taken for one, unless a backslash precedes them. */
export function readBack(text: string): Heard[] {
  const pieces = text.split(new RegExp(`(\r\n|[${ends}])`))
  const lines = pieces.flatMap((piece, i) => (i % 2 === 0 ? [{ line: piece, end: pieces[i + 1] ?? '' }] : []))
  const heard: { role: string; text: string }[] = []
  const [open, , , empty, ...rest] = lines
  if (open?.line !== '<conversation_history>' || empty?.line !== '') throw new Error('no opening')
  const closing = rest.findIndex(({ line }) => new RegExp(`(?<!\\\\)${tag}`, 'u').test(withoutLead(line)))
  if (closing !== rest.length - 1) throw new Error(`the fence ends at line ${closing} of ${rest.length - 1}`)
  for (const { line, end } of rest.slice(0, -1)) {
    const label = role.exec(line)
    if (label) {
      const who = label[1]!.normalize('NFKC').toLowerCase().replaceAll(new RegExp(unseen, 'gu'), '')
      heard.push({ role: who, text: plainAfterLabel(line.slice(label[0].length).replace(/^ /, '')) + end })
    } else {
      const last = heard.at(-1)
      if (!last) throw new Error(`text without a speaker: ${JSON.stringify(line)}`)
      last.text += plain(line) + end
    }
  }
  return heard.map(message => ({ ...message, text: message.text.replace(/\n$/, '') }))
}

/** A line with a guarded beginning: a fence at its beginning does not count. */
function withoutLead(line: string): string {
  return line.replace(new RegExp(`^\\\\+${blank}${tag}`, 'u'), '')
}

function plain(line: string): string {
  const guarded = new RegExp(`^\\\\+(?:${role.source.slice(1)}|${blank}${tag})`, 'u')
  if (!guarded.test(line)) return plainInside(line)
  const lead = new RegExp(`^\\\\+${blank}${tag}`, 'u').exec(line)
  if (!lead) return plainInside(line.slice(1))
  return line.slice(1, lead[0].length) + plainInside(line.slice(lead[0].length))
}

function plainAfterLabel(line: string): string {
  return plainInside(line).replace(new RegExp(`^\\\\(\\\\*${blank}${remark})`, 'u'), '$1')
}

function plainInside(line: string): string {
  return line.replaceAll(new RegExp(`\\\\(\\\\*${tag})`, 'gu'), '$1')
}
