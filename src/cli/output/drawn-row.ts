import { fittingStart, widthOf } from './cut.ts'

/** A part of a row: its text, and how it is coloured. */
export interface DrawnPiece {
  /** Safe to print, without colours. */
  readonly text: string
  readonly paint: (text: string) => string
}

/** A row of the terminal. */
export type DrawnRow = readonly DrawnPiece[]

export function plainPiece(text: string): DrawnPiece {
  return { text, paint: plainly }
}

function plainly(text: string): string {
  return text
}

/** The text of a row without its colours. */
export function rowText(row: DrawnRow): string {
  return row.map(({ text }) => text).join('')
}

/** The row as it is printed, without its first `skipped` characters. Words of one piece are painted
 *  together. */
export function paintRow(row: DrawnRow, skipped = 0): string {
  const merged: { text: string; readonly paint: DrawnPiece['paint'] }[] = []
  let at = 0
  for (const { text, paint } of row) {
    const rest = text.slice(Math.max(0, skipped - at))
    at += text.length
    const last = merged.at(-1)
    if (last?.paint === paint) last.text += rest
    else merged.push({ text: rest, paint })
  }
  return merged.map(({ text, paint }) => (text === '' ? '' : paint(text))).join('')
}

/** The cells of a row. */
export function rowWidth(row: DrawnRow): number {
  return row.reduce((sum, { text }) => sum + widthOf(text), 0)
}

export interface WrapOptions {
  readonly width: number
  /** Divides a word that is wider than a row. Otherwise it gets a row of its own, which the terminal wraps: a
   *  URL can then be copied. */
  readonly dividesWords?: boolean
  /** The cells that are already used in the first row. */
  readonly used?: number
}

/** Wraps pieces between words. */
export function wrapPieces(
  pieces: readonly DrawnPiece[],
  { width, dividesWords = false, used = 0 }: WrapOptions,
): readonly DrawnRow[] {
  const rows: DrawnPiece[][] = [[]]
  let column = used
  for (const { gap, word } of wordsOf(pieces)) {
    const cells = rowWidth(word)
    const gapCells = rowWidth(gap)
    const isFull = column > 0 && column + gapCells + cells > width
    if (isFull) rows.push([])
    else if (column > 0 || rows.length === 1) rows.at(-1)!.push(...gap)
    if (dividesWords && cells > width) {
      const parts = divided(word, width)
      rows.at(-1)!.push(...parts[0]!)
      rows.push(...parts.slice(1).map(part => [...part]))
      column = rowWidth(rows.at(-1)!)
    } else {
      rows.at(-1)!.push(...word)
      column = isFull ? cells : column + gapCells + cells
    }
  }
  return rows
}

interface Word {
  /** The spaces before it. */
  readonly gap: DrawnPiece[]
  readonly word: DrawnPiece[]
}

/** Words, each with the spaces before it. A word may consist of several pieces: **bo**ld. */
function wordsOf(pieces: readonly DrawnPiece[]): readonly Word[] {
  const words: Word[] = []
  let current: Word = { gap: [], word: [] }
  const flush = () => {
    // Spaces without a word belong to the next one.
    if (current.word.length === 0) return
    words.push(current)
    current = { gap: [], word: [] }
  }
  for (const { text, paint } of pieces) {
    for (const part of text.match(parts) ?? []) {
      if (part.startsWith(' ')) {
        flush()
        current.gap.push({ text: part, paint })
      } else {
        if (ideograph.test(part) || ideograph.test(current.word.at(-1)?.text ?? '')) flush()
        current.word.push({ text: part, paint })
      }
    }
  }
  flush()
  return words
}

/** Scripts without spaces, whose rows may end after any character, but not before closing punctuation. */
const wide = '\\u2e80-\\u303f\\u3041-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\uff00-\\uffef'
const closing = '、。，．：；！？）］｝」』】》〉〕ーぁぃぅぇぉっゃゅょァィゥェォッャュョ'
const parts = new RegExp(` +|[${wide}][${closing}]*|[^ ${wide}]+[${closing}]*`, 'g')
const ideograph = new RegExp(`^[${wide}]`)

/** Divides a word into rows. */
function divided(word: readonly DrawnPiece[], width: number): readonly DrawnRow[] {
  const rows: DrawnPiece[][] = [[]]
  let column = 0
  for (const { text, paint } of word) {
    let rest = text
    while (rest !== '') {
      const part = fittingStart(rest, width - column)
      if (part === '' && column > 0) {
        rows.push([])
        column = 0
        continue
      }
      // A character that is wider than the row gets a row of its own.
      const taken = part || [...rest][0]!
      rows.at(-1)!.push({ text: taken, paint })
      column += widthOf(taken)
      rest = rest.slice(taken.length)
    }
  }
  return rows
}
