/** Colours and symbols: 16 colours that work on any theme, or none. A colour never carries meaning alone: it
 *  comes with a word or a symbol. */
export interface Style {
  readonly colour: boolean
  /** False if the locale or the terminal supports only ASCII. */
  readonly unicode: boolean
  id(text: string): string
  title(text: string): string
  branch(text: string): string
  faint(text: string): string
  ok(text: string): string
  failed(text: string): string
  note(text: string): string
  /** A search match: inverse, or in brackets without colour. */
  match(text: string): string
  readonly symbols: StyleSymbols
  /** Makes stored or streamed text safe to print: control characters are shown, not sent. Line breaks and
   *  tabs are kept. */
  safe(text: string): string
}

export interface StyleSymbols {
  readonly dot: string
  /** Between parts of a line that may begin with a flag: in ASCII, a dash would look like one. */
  readonly bar: string
  readonly dots: string
  readonly ok: string
  readonly failed: string
  readonly note: string
  readonly prompt: string
  readonly rule: string
  readonly full: string
  readonly empty: string
  readonly escape: string
}

const fancy: StyleSymbols = {
  dot: '·',
  bar: '·',
  dots: '…',
  ok: '✓',
  failed: '✗',
  note: '!',
  prompt: '›',
  rule: '─',
  full: '━',
  empty: '─',
  escape: '␛',
}

const plain: StyleSymbols = {
  dot: '-',
  bar: '|',
  dots: '...',
  ok: 'ok',
  failed: 'x',
  note: '!',
  prompt: '>',
  rule: '-',
  full: '=',
  empty: '-',
  escape: '^[',
}

export interface StyleOptions {
  readonly isTerminal: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  readonly noColor: boolean
}

export function styleFor({ isTerminal, env, noColor }: StyleOptions): Style {
  const colour = isTerminal && !noColor && !env.NO_COLOR && env.TERM !== 'dumb'
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ''
  const unicode = !isTerminal || (/utf-?8/i.test(locale) && env.TERM !== 'dumb' && env.TERM !== 'linux')
  const paint = (on: string, off: string) => (text: string) =>
    colour && text ? `\x1b[${on}m${text}\x1b[${off}m` : text
  const symbols = unicode ? fancy : plain
  return {
    colour,
    unicode,
    id: paint('36', '39'),
    title: paint('1', '22'),
    branch: paint('35', '39'),
    faint: paint('2', '22'),
    ok: paint('32', '39'),
    failed: paint('31', '39'),
    note: paint('33', '39'),
    match: colour ? paint('7', '27') : text => `[${text}]`,
    symbols,
    safe: text => harmless(text, symbols.escape),
  }
}

/** Control characters, and other characters that break lines or change the writing direction: \p{Cc}, \p{Zl},
 *  \p{Zp}, \p{Bidi_Control} and U+FEFF. By number, because V8 resolves property escapes slowly. */
const driving =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g

function harmless(text: string, sign: string): string {
  if (text.search(driving) === -1) return text
  return text.replace(/\r\n/g, '\n').replace(driving, character => shown(character, sign))
}

function shown(character: string, sign: string): string {
  if (character === '\n' || character === '\t') return character
  const code = character.charCodeAt(0)
  if (code === 0x1b) return sign
  if (sign !== plain.escape && code < 0x20) return String.fromCharCode(0x2400 + code)
  return code < 0x20 ? `^${String.fromCharCode(code + 64)}` : `\\u${code.toString(16).padStart(4, '0')}`
}
