import type { Lexer, MarkedOptions, Token, Tokens } from 'marked'
import { marked } from './marked.ts'
import type { CodeFence, MarkdownBlock, MarkdownItem, MarkdownSpan, PlacedBlock, TableSide } from './tree.ts'

/** Parses Markdown. HTML and link references are text: what a model writes cannot become markup, and a block
 *  never depends on a later one. The text is untrusted: nesting is limited, and a text full of signs is
 *  parsed in pieces. */
export function markdownTree(text: string): readonly PlacedBlock[] {
  return blocksOf(lexBlocks(text), 0)
}

/** Whether a text may contain a block of code. */
export function hasFence(text: string): boolean {
  return text.includes('```') || text.includes('~~~')
}

/** A block of the top level and the characters of its source, including the empty lines after it. */
export interface SourceBlock {
  readonly length: number
  readonly placed: PlacedBlock
}

/** The blocks of the top level with their lengths, whose sum is the length of the text. */
export function sourceBlocks(text: string): readonly SourceBlock[] {
  const found: { length: number; readonly placed: PlacedBlock }[] = []
  let at = 0
  let before = 0
  for (const token of lexBlocks(text)) {
    const block = blockOf(token, 0)
    const start = at
    at += token.raw.length
    // White space belongs to the block before it, and at the beginning to the first block.
    if (block !== null) {
      const isApart = found.length > 0 && endsApart(text.slice(before, start))
      found.push({ length: found.length === 0 ? at : token.raw.length, placed: { block, isApart } })
      before = start
    } else if (found.length > 0) found.at(-1)!.length += token.raw.length
  }
  return found
}

/** The maximum nesting of quotes and lists. Deeper ones are text. */
const deepest = 8

/** The maximum number of signs in a text that is parsed for spans at once: the parser takes quadratic time if
 *  many of them are not closed. */
const mostSigns = 200

/** Without HTML, link references and their definitions. */
function plainOptions(): MarkedOptions {
  class PlainTokenizer extends marked().Tokenizer {
    override html(): undefined {}
    override tag(): undefined {}
    override def(): undefined {}
    override reflink(): undefined {}
  }
  return { gfm: true, breaks: true, tokenizer: new PlainTokenizer() }
}

let options: MarkedOptions | undefined

function lexer(): Lexer {
  options ??= plainOptions()
  return new (marked().Lexer)(options)
}

function lexBlocks(text: string): readonly Token[] {
  try {
    const lines = text.replace(/\r\n?/g, '\n')
    return isTooDeep(lines) ? [plainParagraph(lines)] : lexer().blockTokens(lines, [])
  } catch (error) {
    // marked throws on what it cannot parse; the text is still shown.
    if (error instanceof Error) return [plainParagraph(text)]
    throw error
  }
}

/** A line that opens very many quotes or lists at once overflows the stack of the parser. */
function isTooDeep(text: string): boolean {
  return /^[ \t]*(?:(?:>|[-+*]|\d{1,9}[.)])[ \t]*){40}/m.test(text)
}

function plainParagraph(text: string): Token {
  return { type: 'plain', raw: text, text } as unknown as Token
}

function blocksOf(tokens: readonly Token[], depth: number): readonly PlacedBlock[] {
  const placed: PlacedBlock[] = []
  let before = ''
  for (const token of tokens) {
    const block = blockOf(token, depth)
    if (block !== null) placed.push({ block, isApart: placed.length > 0 && endsApart(before) })
    before = block === null ? before + token.raw : token.raw
  }
  return placed
}

function endsApart(source: string): boolean {
  return /\n[ \t]*\n[ \t]*$/.test(source)
}

function blockOf(token: Token, depth: number): MarkdownBlock | null {
  if (depth > deepest) return token.type === 'space' ? null : plain(token.raw)
  switch (token.type) {
    case 'space':
    case 'checkbox':
      return null
    case 'heading':
      return { type: 'heading', level: (token as Tokens.Heading).depth, spans: spansOf(textOf(token)) }
    case 'code':
      return codeOf(token as Tokens.Code)
    case 'blockquote':
      return { type: 'quote', blocks: blocksOf((token as Tokens.Blockquote).tokens, depth + 1) }
    case 'list':
      return listOf(token as Tokens.List, depth)
    case 'table':
      return tableOf(token as Tokens.Table)
    case 'hr':
      return { type: 'rule' }
    case 'plain':
      return plain(textOf(token))
    default:
      return { type: 'paragraph', spans: spansOf(textOf(token)) }
  }
}

function textOf(token: Token): string {
  return 'text' in token ? String(token.text) : token.raw
}

/** A text that is not parsed. */
function plain(text: string): MarkdownBlock {
  const spans = text
    .replace(/\n+$/, '')
    .split('\n')
    .flatMap((line, i): MarkdownSpan[] => [
      ...(i === 0 ? [] : [{ type: 'break' } as const]),
      { type: 'text', text: line },
    ])
  return { type: 'paragraph', spans }
}

function codeOf({ raw, text, lang, codeBlockStyle }: Tokens.Code): MarkdownBlock {
  const language = /^[\w+#.-]{1,40}/.exec(lang ?? '')?.[0] ?? ''
  return { type: 'code', language, text, fence: codeBlockStyle === 'indented' ? null : fenceOf(raw) }
}

function fenceOf(raw: string): CodeFence {
  const sign = /^ {0,3}(`{3,}|~{3,})/.exec(raw)?.[1] ?? '```'
  const lines = raw.trimEnd().split('\n')
  const last = lines.length < 2 ? '' : lines.at(-1)!.trim()
  return { sign, isClosed: last.startsWith(sign) && last.replaceAll(sign[0]!, '') === '' }
}

function listOf({ items, ordered, start }: Tokens.List, depth: number): MarkdownBlock {
  const first = ordered ? Number(start) || 0 : null
  return {
    type: 'list',
    items: items.map((item, i): MarkdownItem => {
      const box = item.tokens.find(token => token.type === 'checkbox')
      return {
        number: first === null ? null : first + i,
        isChecked: box ? (box as Tokens.Checkbox).checked : null,
        blocks: blocksOf(item.tokens.flatMap(withoutBox), depth + 1),
        isApart: i > 0 && endsApart(items[i - 1]!.raw),
      }
    }),
  }
}

/** In a loose list, the check box is part of the first paragraph. */
function withoutBox(token: Token): readonly Token[] {
  if (token.type === 'checkbox') return []
  if (token.type !== 'paragraph' && token.type !== 'text') return [token]
  return [{ ...token, text: textOf(token).replace(/^\[[ xX]\] +/, '') }]
}

const sides: Readonly<Record<string, TableSide>> = { right: 'right', center: 'middle' }

function tableOf({ header, rows, align }: Tokens.Table): MarkdownBlock {
  const cell = ({ text }: Tokens.TableCell) => spansOf(text)
  return {
    type: 'table',
    head: header.map(cell),
    rows: rows.map(row => row.map(cell)),
    sides: align.map(side => sides[side ?? ''] ?? 'left'),
  }
}

/** Parses the spans of one text. */
export function spansOf(text: string): readonly MarkdownSpan[] {
  return piecesOf(text).flatMap(piece => inlineOf(lexer().inlineTokens(piece), 0))
}

/** Divides a text with very many signs. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = []
  let from = 0
  let signs = 0
  for (const { index } of text.matchAll(/[*_~`<>[\]!\\|&@:]/g)) {
    if (++signs % mostSigns !== 0) continue
    pieces.push(text.slice(from, index))
    from = index
  }
  return [...pieces, text.slice(from)]
}

function inlineOf(tokens: readonly Token[], depth: number): readonly MarkdownSpan[] {
  return tokens.flatMap((token): readonly MarkdownSpan[] => {
    if (depth > deepest) return [{ type: 'text', text: token.raw }]
    const inner = () => inlineOf(('tokens' in token && token.tokens) || [], depth + 1)
    switch (token.type) {
      case 'strong':
        return [{ type: 'strong', spans: inner() }]
      case 'em':
        return [{ type: 'emphasis', spans: inner() }]
      case 'del':
        return [{ type: 'strike', spans: inner() }]
      case 'codespan':
        return [{ type: 'code', text: textOf(token) }]
      case 'br':
        return [{ type: 'break' }]
      case 'link':
      case 'image':
        return linkOf(token as Tokens.Link | Tokens.Image, inner())
      default:
        return textSpans(textOf(token))
    }
  })
}

/** Only http and https are links. Others are shown as they were written. */
function linkOf(
  { href, raw, type }: Tokens.Link | Tokens.Image,
  spans: readonly MarkdownSpan[],
): readonly MarkdownSpan[] {
  if (!/^https?:\/\/[^\s<>]{1,2000}$/i.test(href)) return textSpans(raw)
  const label = spans.length > 0 ? spans : textSpans(type === 'image' ? 'image' : href)
  return [{ type: 'link', href, spans: label }]
}

function textSpans(text: string): readonly MarkdownSpan[] {
  return text
    .split('\n')
    .flatMap((line, i): MarkdownSpan[] => [
      ...(i === 0 ? [] : [{ type: 'break' } as const]),
      ...(line === '' ? [] : [{ type: 'text', text: line } as const]),
    ])
}
