import { harmless } from '../../core/harmless.ts'

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
