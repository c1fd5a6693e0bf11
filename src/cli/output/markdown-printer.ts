import type { Highlighter } from '../../render/highlight.ts'
import { sourceBlocks } from '../../render/markdown-tree.ts'
import { stableLength } from '../../render/stable-length.ts'
import { widthOf } from './cut.ts'
import { drawMarkdown } from './draw-markdown.ts'
import { type DrawnRow, paintRow, rowText } from './drawn-row.ts'
import type { Style } from './style.ts'
import { proseWidth } from './wrap.ts'

/** Draws Markdown as it arrives, and never draws anything twice: text waits until later text cannot change
 *  how it looks. */
export interface MarkdownPrinter {
  /** The text that can be shown now. */
  add(text: string): string
  /** The rest. The next text begins a new answer. */
  end(): string
  /** The number of cells in the unfinished last row of the output. */
  readonly column: number
}

export interface PrinterOptions {
  readonly style: Style
  /** Called each time, because the terminal can be resized. */
  readonly width: () => number
  /** Colours code; null while it is not loaded. */
  readonly highlight: () => Highlighter | null
}

/** The block that arrives is drawn again after each word, in a long block after each fiftieth of its length,
 *  so that the work stays proportional to the text. */
const stepShare = 50

/** A printer for a terminal. The result does not depend on how the text is divided into pieces. */
export function markdownPrinter({ style, width, highlight }: PrinterOptions): MarkdownPrinter {
  /** The source of the blocks that may still change. */
  let source = ''
  /** The text that was drawn of it, without colours, and the source that it was drawn from. */
  let drawn = ''
  let drawnFrom = ''
  /** The line breaks before the first block of the source, and the cells of a row that it continues. */
  let separator = ''
  let used = 0
  let nextStep = 0
  let held = ''
  let column = 0

  /** Draws a beginning of the source, and returns what is new in it. */
  function draw(text: string): string {
    const blocks = sourceBlocks(text)
    if (blocks.length === 0) return ''
    const parts = blocks.map(({ placed: { block, isApart } }, i) => ({
      separator: i === 0 ? separator : isApart ? '\n\n' : '\n',
      rows: drawMarkdown([{ block, isApart: false }], {
        style,
        width: Math.min(width(), proseWidth),
        highlight: highlight(),
        used: i === 0 ? used : 0,
      }),
    }))
    const plain = parts.map(plainText).join('')
    if (!plain.startsWith(drawn)) {
      if (drawn.startsWith(plain)) return ''
      // Later text has changed the look of printed text. What is printed stays, and the rest continues there.
      const rest = text.slice(drawnFrom.length)
      leave(drawnFrom.length)
      return draw(rest)
    }
    const shown = painted(parts, drawn.length)
    column = columnOf(plain)
    drawn = plain
    drawnFrom = text
    // All blocks but the last are final: they are not drawn again.
    const done = blocks.slice(0, -1).reduce((sum, { length }) => sum + length, 0)
    if (done > 0) {
      source = source.slice(done)
      drawnFrom = drawnFrom.slice(done)
      drawn = plainText(parts.at(-1)!)
      separator = parts.at(-1)!.separator
      used = 0
      nextStep = Math.max(0, nextStep - done)
    }
    return shown
  }

  /** Gives up the source that is printed. The rest continues in the same row. */
  function leave(length: number): void {
    const last = source.slice(0, length)
    source = source.slice(length)
    nextStep = Math.max(0, nextStep - length)
    separator = /\n[ \t]*\n[ \t]*$/.test(last) ? '\n\n' : /\n[ \t]*$/.test(last) ? '\n' : ''
    used = separator === '' ? column : 0
    if (separator === '' && /[ \t]$/.test(last) && column > 0) separator = ' '
    if (separator === ' ') used++
    drawn = ''
    drawnFrom = ''
  }

  function columnOf(plain: string): number {
    const last = plain.slice(plain.lastIndexOf('\n') + 1)
    return widthOf(last) + (plain.includes('\n') ? 0 : used - (separator === ' ' ? 1 : 0))
  }

  return {
    add(text) {
      const all = (held + text).replaceAll('\r\n', '\n')
      // Half a CRLF and half a surrogate pair wait for the other half.
      const cutAt = /[\r\ud800-\udbff]$/.test(all) ? all.length - 1 : all.length
      held = all.slice(cutAt)
      source += all.slice(0, cutAt).replaceAll('\r', '\n')
      let shown = ''
      for (;;) {
        const space = /\s/g
        space.lastIndex = nextStep
        const found = space.exec(source)
        if (found === null) return shown
        const end = found.index + 1
        nextStep = end + Math.floor(end / stepShare)
        const stable = stableLength(source.slice(0, end))
        if (stable > drawnFrom.length) shown += draw(source.slice(0, stable))
      }
    },
    end() {
      source += held.replaceAll('\r', '\n')
      const shown = source === '' ? '' : draw(source)
      source = drawn = drawnFrom = separator = held = ''
      nextStep = used = 0
      return shown
    },
    get column() {
      return column
    },
  }
}

interface DrawnPart {
  /** The line breaks before it. */
  readonly separator: string
  readonly rows: readonly DrawnRow[]
}

function plainText({ separator, rows }: DrawnPart): string {
  return separator + rows.map(rowText).join('\n')
}

/** The parts as they are printed, without the first `skipped` characters of their text. */
function painted(parts: readonly DrawnPart[], skipped: number): string {
  let at = 0
  let shown = ''
  const add = (text: string, paint: (skippedHere: number) => string) => {
    if (at + text.length > skipped) shown += paint(Math.max(0, skipped - at))
    at += text.length
  }
  for (const { separator, rows } of parts) {
    add(separator, skippedHere => separator.slice(skippedHere))
    for (const [i, row] of rows.entries()) {
      if (i > 0) add('\n', () => '\n')
      add(rowText(row), skippedHere => paintRow(row, skippedHere))
    }
  }
  return shown
}
