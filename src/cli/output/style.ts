import { harmless } from '../../core/harmless.ts'
import type { CodeKind } from '../../render/highlight.ts'
import { hasHyperlinks } from './hyperlinks.ts'

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
  emphasis(text: string): string
  strike(text: string): string
  /** Code within a text: cyan, or in backticks without colour. */
  code(text: string): string
  /** A part of a block of code. */
  codePart(kind: CodeKind, text: string): string
  /** The text of a link, which a click opens; null if the terminal has no hyperlinks. */
  link: ((text: string, href: string) => string) | null
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
  readonly bullet: string
  readonly checked: string
  readonly unchecked: string
  /** Before each row of a quotation. */
  readonly quote: string
  /** Between the columns of a table, and in the rule below its head. */
  readonly column: string
  readonly cross: string
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
  bullet: '•',
  checked: '☑',
  unchecked: '☐',
  quote: '│',
  column: '│',
  cross: '┼',
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
  bullet: '-',
  checked: '[x]',
  unchecked: '[ ]',
  quote: '|',
  column: '|',
  cross: '+',
}

/** Colours of code that are readable on light and dark themes. */
const codeColours: Readonly<Record<CodeKind, readonly [on: string, off: string]>> = {
  keyword: ['35', '39'],
  string: ['32', '39'],
  number: ['36', '39'],
  comment: ['2', '22'],
  function: ['1', '22'],
  type: ['33', '39'],
  attribute: ['36', '39'],
  meta: ['2', '22'],
  added: ['32', '39'],
  removed: ['31', '39'],
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
    emphasis: paint('3', '23'),
    strike: paint('9', '29'),
    code: colour ? paint('36', '39') : text => `\`${text}\``,
    codePart: (kind, text) => paint(...codeColours[kind])(text),
    link:
      colour && hasHyperlinks(env)
        ? (text, href) => `\x1b]8;;${href}\x1b\\\x1b[4m${text}\x1b[24m\x1b]8;;\x1b\\`
        : null,
    match: colour ? paint('7', '27') : text => `[${text}]`,
    symbols,
    safe: text => harmless(text, symbols.escape),
  }
}
