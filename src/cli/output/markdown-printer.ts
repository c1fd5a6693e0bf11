import { widthOf } from './cut.ts'
import type { Style } from './style.ts'
import { proseWidth } from './wrap.ts'

/** Renders Markdown as it arrives: wraps prose between words, prints headings and strong text in bold, keeps
 *  code and tables verbatim. */
export interface MarkdownPrinter {
  /** The text that can be shown now. An incomplete word waits. */
  add(text: string): string
  /** The rest. The next text begins a new answer. */
  end(): string
  /** The number of cells in the unfinished last row of the output. */
  readonly column: number
}

/** A printer for a terminal. No input can send control sequences, even split over several pieces. `width` is
 *  called each time, because the terminal can be resized. */
export function markdownPrinter(style: Style, width: () => number): MarkdownPrinter {
  let rest = ''
  let column = 0
  let fence: string | null = null
  let line = newLine()

  /** Takes whole words and line breaks from the input; at the end, everything. */
  function take(isEnd: boolean): string {
    let shown = ''
    for (;;) {
      const taken = isVerbatim() ? verbatim(isEnd) : nextWord(isEnd)
      if (taken === null) return shown
      shown += taken
    }
  }

  function isVerbatim(): boolean {
    return fence !== null || line.isTable
  }

  /** Code and tables: line by line where a fence may end, otherwise immediately. */
  function verbatim(isEnd: boolean): string | null {
    if (rest === '') return null
    const end = rest.indexOf('\n')
    if (end === -1 && !isEnd) return column > 0 || !couldEndFence(rest, fence) ? allBut() : null
    const text = end === -1 ? rest : rest.slice(0, end).replace(/\r$/, '')
    rest = end === -1 ? '' : rest.slice(end + 1)
    const isClosing = column === 0 && fence !== null && isFenceEnd(text, fence)
    if (isClosing) fence = null
    const shown = isClosing ? style.faint(safe(text)) : safe(text)
    column += widthOf(shown)
    return end === -1 ? shown : shown + lineBreak()
  }

  /** Half a surrogate pair, or half a CRLF, waits for its other half. */
  function allBut(): string | null {
    const waits = /[\r\ud800-\udbff]$/.exec(rest)?.[0] ?? ''
    const text = rest.slice(0, rest.length - waits.length)
    rest = waits
    if (text === '') return null
    const shown = safe(text)
    column += widthOf(shown)
    return shown
  }

  function nextWord(isEnd: boolean): string | null {
    const [found, spaces = '', word = '', after] = /^([ \t]*)([^\s]*)(\s)?/.exec(rest) ?? []
    if (!found || (after === undefined && !isEnd)) return null
    if (after === '\r' && !isEnd && rest.length === found.length) return null
    rest = rest.slice(spaces.length + word.length)
    if (word === '') {
      if (after === '\r' && rest.startsWith('\r\n')) rest = rest.slice(1)
      if (rest.startsWith('\n')) {
        rest = rest.slice(1)
        return lineBreak()
      }
      // Trailing spaces, or white space other than spaces and line breaks.
      const odd = rest.slice(0, 1)
      rest = rest.slice(1)
      return odd === '' ? null : placed(spaces, odd)
    }
    return line.isNew ? firstWord(spaces, word) : placed(spaces, word)
  }

  function firstWord(spaces: string, word: string): string {
    line.isNew = false
    const opening = /^(`{3,}|~{3,})/.exec(word)?.[1]
    if (opening && spaces.length < 4) {
      fence = opening
      // The rest of the line is the language.
      const shown = style.faint(spaces + safe(word))
      column = widthOf(shown)
      return shown
    }
    if (word.startsWith('|')) {
      line.isTable = true
      column = widthOf(spaces + word)
      return spaces + safe(word)
    }
    if (/^#{1,6}$/.test(word) && spaces === '') {
      line.isHeading = true
      line.swallow = true
      return ''
    }
    if (/^([-*+]|\d{1,3}[.)])$/.test(word)) line.indent = Math.min(20, widthOf(spaces) + word.length + 1)
    return placed(spaces, word)
  }

  /** A word with the space before it, or on the next row if this row is full. */
  function placed(spaces: string, word: string): string {
    const room = Math.min(width(), proseWidth)
    const text = safe(painted(word))
    const gap = line.swallow ? '' : spaces.replaceAll('\t', '    ')
    line.swallow = false
    const cells = widthOf(text.plain)
    const isFull = column > line.indent && column + gap.length + cells > room
    const before = isFull ? `\n${' '.repeat(line.indent)}` : gap
    column = (isFull ? line.indent : column + gap.length) + cells
    return before + text.shown

    function safe({ plain, parts }: Painted): { plain: string; shown: string } {
      const shown = parts
        .map(([part, isStrong]) => {
          const harmless = style.safe(part)
          return isStrong || line.isHeading ? style.title(harmless) : harmless
        })
        .join('')
      return { plain: style.safe(plain), shown }
    }
  }

  interface Painted {
    readonly plain: string
    readonly parts: readonly (readonly [text: string, isStrong: boolean])[]
  }

  /** The word without the stars of strong text, and which parts of it are strong. */
  function painted(word: string): Painted {
    const parts: [string, boolean][] = []
    for (const part of word.split(/(\*\*|`)/)) {
      if (part === '`') line.isCode = !line.isCode
      if (part === '**' && !line.isCode) line.isStrong = !line.isStrong
      else if (part !== '') parts.push([part, line.isStrong])
    }
    return { plain: parts.map(([part]) => part).join(''), parts }
  }

  function lineBreak(): string {
    column = 0
    // A line break also ends strong text that was never closed.
    line = newLine()
    return '\n'
  }

  function safe(text: string): string {
    return style.safe(text)
  }

  return {
    add(text) {
      rest += text
      return take(false)
    },
    end() {
      const shown = take(true)
      rest = ''
      fence = null
      return shown
    },
    get column() {
      return column
    },
  }
}

function newLine() {
  return {
    isNew: true,
    isHeading: false,
    isTable: false,
    isStrong: false,
    isCode: false,
    /** The indentation of the following rows of a list item. */
    indent: 0,
    /** Drops the space after a marker that is not shown. */
    swallow: false,
  }
}

function isFenceEnd(text: string, fence: string): boolean {
  const mark = text.trim()
  return mark.startsWith(fence) && mark.replaceAll(fence[0]!, '') === ''
}

/** Whether this beginning of a line may become the end of the fence. */
function couldEndFence(text: string, fence: string | null): boolean {
  if (fence === null) return false
  return /^[ ]*[`~]*\r?$/.test(text)
}
