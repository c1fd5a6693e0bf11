import type { Highlighter } from '../../render/highlight.ts'
import type { MarkdownBlock, MarkdownItem, MarkdownSpan, PlacedBlock } from '../../render/tree.ts'
import { widthOf } from './cut.ts'
import { drawTable } from './draw-table.ts'
import { type DrawnPiece, type DrawnRow, plainPiece, wrapPieces } from './drawn-row.ts'
import type { Style } from './style.ts'

export interface DrawOptions {
  readonly style: Style
  /** The width of prose. Code may be wider: the terminal wraps it. */
  readonly width: number
  /** Colours code; null leaves it plain. */
  readonly highlight: Highlighter | null
  /** The cells that are already used in the first row. Default: 0. */
  readonly used?: number
}

/** Prose is not drawn narrower, however deep it is nested. */
const narrowest = 12

/** Draws Markdown as rows of a terminal. No text can send control sequences. */
export function drawMarkdown(blocks: readonly PlacedBlock[], options: DrawOptions): readonly DrawnRow[] {
  const { style, highlight } = options
  return drawBlocks(blocks, options.width, options.used ?? 0)

  function drawBlocks(placed: readonly PlacedBlock[], width: number, used = 0): readonly DrawnRow[] {
    return placed.flatMap(({ block, isApart }, i) => [
      ...(isApart ? [[]] : []),
      ...drawBlock(block, Math.max(narrowest, width), i === 0 ? used : 0),
    ])
  }

  function drawBlock(block: MarkdownBlock, width: number, used: number): readonly DrawnRow[] {
    switch (block.type) {
      case 'paragraph':
        return drawSpans(block.spans, width, used)
      case 'heading': {
        // Without colours, the sign shows what it is.
        const sign = style.colour ? [] : [plainPiece(`${'#'.repeat(block.level)} `)]
        const pieces = piecesOf(block.spans, [style.title])
        return wrapPieces([...sign, ...pieces.filter(piece => piece !== 'break')], { width, used })
      }
      case 'code':
        return drawCode(block)
      case 'quote': {
        const bar = { text: `${style.symbols.quote} `, paint: style.faint }
        return drawBlocks(block.blocks, width - 2).map(row => [bar, ...row])
      }
      case 'list':
        return block.items.flatMap(item => drawItem(item, width))
      case 'table':
        return drawTable(
          {
            head: block.head.map(cell => joined(piecesOf(cell, [style.title]))),
            rows: block.rows.map(row => row.map(cell => joined(piecesOf(cell, [])))),
            sides: block.sides,
          },
          { style, width },
        )
      case 'rule':
        return [[{ text: style.symbols.rule.repeat(width), paint: style.faint }]]
      default:
        return block satisfies never
    }
  }

  function drawItem({ number, isChecked, blocks: inner, isApart }: MarkdownItem, width: number) {
    const { bullet, checked, unchecked } = style.symbols
    const marker = number === null ? bullet : `${number}.`
    const box = isChecked === null ? '' : `${isChecked ? checked : unchecked} `
    // A check box replaces the bullet.
    const first = number === null && box !== '' ? box : `${marker} ${box}`
    const indent = widthOf(first)
    const rows = drawBlocks(inner, width - indent)
    const drawn = (rows.length === 0 ? [[]] : rows).map((row, i): DrawnRow => {
      if (i === 0) return [{ text: first, paint: style.faint }, ...row]
      return row.length === 0 ? row : [plainPiece(' '.repeat(indent)), ...row]
    })
    return isApart ? [[], ...drawn] : drawn
  }

  function drawCode({ language, text, fence }: Extract<MarkdownBlock, { type: 'code' }>) {
    const sign = (words: string): DrawnRow => [{ text: style.safe(words), paint: style.faint }]
    const rows = text === '' ? [] : codeRows(text, language)
    if (fence === null) return rows.map(row => [plainPiece('    '), ...row])
    return [sign(fence.sign + language), ...rows, ...(fence.isClosed ? [sign(fence.sign)] : [])]
  }

  function codeRows(code: string, language: string): readonly DrawnRow[] {
    const rows: DrawnPiece[][] = [[]]
    let at = 0
    const add = (text: string, paint: DrawnPiece['paint']) => {
      for (const [i, line] of text.split('\n').entries()) {
        if (i > 0) rows.push([])
        if (line !== '') rows.at(-1)!.push({ text: style.safe(line.toWellFormed()), paint })
      }
    }
    for (const { from, to, kind } of highlight?.(code, language) ?? []) {
      add(code.slice(at, from), plainPiece('').paint)
      add(code.slice(from, to), text => style.codePart(kind, text))
      at = to
    }
    add(code.slice(at), plainPiece('').paint)
    return rows
  }

  /** Lines of the source stay lines. */
  function drawSpans(spans: readonly MarkdownSpan[], width: number, used: number): readonly DrawnRow[] {
    const lines: DrawnPiece[][] = [[]]
    for (const piece of piecesOf(spans, [])) {
      if (piece === 'break') lines.push([])
      else lines.at(-1)!.push(piece)
    }
    return lines.flatMap((line, i) => wrapPieces(line, { width, used: i === 0 ? used : 0 }))
  }

  type Paint = DrawnPiece['paint']

  function piecesOf(
    spans: readonly MarkdownSpan[],
    paints: readonly Paint[],
  ): readonly (DrawnPiece | 'break')[] {
    const leaf = (text: string, more: readonly Paint[] = []): DrawnPiece => ({
      text: style.safe(text.toWellFormed()).replaceAll('\t', '    '),
      paint: shown => [...paints, ...more].reduce((result, paint) => paint(result), shown),
    })
    return spans.flatMap((span): readonly (DrawnPiece | 'break')[] => {
      switch (span.type) {
        case 'text':
          return [leaf(span.text)]
        case 'code':
          return style.colour ? [leaf(span.text, [style.code])] : [leaf(style.code(span.text))]
        case 'break':
          return ['break']
        case 'strong':
          return piecesOf(span.spans, [...paints, style.title])
        case 'emphasis':
          return piecesOf(span.spans, [...paints, style.emphasis])
        case 'strike':
          return piecesOf(span.spans, [...paints, style.strike])
        case 'link':
          return linkPieces(span, paints)
        default:
          return span satisfies never
      }
    })
  }

  /** Where a terminal cannot open a link, its target follows its text. */
  function linkPieces(
    { href, spans }: Extract<MarkdownSpan, { type: 'link' }>,
    paints: readonly Paint[],
  ): readonly (DrawnPiece | 'break')[] {
    const { link } = style
    const target = style.safe(href)
    if (link !== null && /^[\x21-\x7e]+$/.test(target))
      return piecesOf(spans, [...paints, text => link(text, target)])
    const label = piecesOf(spans, paints)
    const isTarget = label.map(piece => (piece === 'break' ? '' : piece.text)).join('') === target
    return isTarget ? label : [...label, { text: ` (${target})`, paint: style.faint }]
  }
}

function joined(pieces: readonly (DrawnPiece | 'break')[]): readonly DrawnPiece[] {
  return pieces.map(piece => (piece === 'break' ? plainPiece(' ') : piece))
}
