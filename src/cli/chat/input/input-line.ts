import type { Key } from './key-reader.ts'

/** One step of the cursor: a grapheme, or a long paste that is shown by its size. */
export interface InputCell {
  readonly value: string
  readonly shown: string
}

/** The text being edited; it may contain line breaks. */
export interface InputLine {
  readonly cells: readonly InputCell[]
  /** The cursor is before this cell. */
  readonly at: number
  /** The cells that were cut last, for Ctrl+Y. */
  readonly cut: readonly InputCell[]
}

export const emptyInput: InputLine = { cells: [], at: 0, cut: [] }

/** An input with this text and the cursor at its end. */
export function inputLine(text: string): InputLine {
  const cells = cellsOf(text)
  return { cells, at: cells.length, cut: [] }
}

/** The text, with pastes in full. */
export function inputText({ cells }: InputLine): string {
  return cells.map(({ value }) => value).join('')
}

/** The text without long pastes. */
export function typedText({ cells }: InputLine): string {
  return cells.map(({ value, shown }) => (value === shown ? value : '\n')).join('')
}

/** The text before the cursor. */
export function textBefore({ cells, at }: InputLine): string {
  return cells
    .slice(0, at)
    .map(({ value }) => value)
    .join('')
}

/** A paste of at least this size is shown by its size. */
const longPaste = { lines: 5, characters: 1_000 } as const

/** The input after a key; the same object if the key does not edit. */
export function applyKey(line: InputLine, key: Key): InputLine {
  if (key.type === 'text') return inserted(line, cellsOf(key.text))
  if (key.type === 'paste') return inserted(line, pasteCells(key.text))
  const { cells, at } = line
  switch (key.name) {
    case 'newline':
      return inserted(line, cellsOf('\n'))
    case 'left':
      return moved(line, at - 1)
    case 'right':
    case 'forward':
      return moved(line, at + 1)
    case 'home':
      return moved(line, startOfRow(cells, at))
    case 'end':
      return moved(line, endOfRow(cells, at))
    case 'word-left':
      return moved(line, wordBefore(cells, at))
    case 'word-right':
      return moved(line, wordAfter(cells, at))
    case 'backspace':
      return without(line, at - 1, at)
    case 'delete':
    case 'end-of-input':
      return without(line, at, at + 1)
    case 'kill-word':
      return killed(line, wordBefore(cells, at), at)
    case 'kill-before':
      return killed(line, startOfRow(cells, at), at)
    case 'kill-after':
      return killed(line, at, endOfRow(cells, at))
    case 'yank':
      return inserted(line, line.cut)
    default:
      return line
  }
}

/** Moves the cursor one row up or down; null if there is no such row. */
export function moveByRow(line: InputLine, by: -1 | 1): InputLine | null {
  const { cells, at } = line
  const start = startOfRow(cells, at)
  const column = at - start
  if (by === -1) {
    if (start === 0) return null
    const above = startOfRow(cells, start - 1)
    return moved(line, Math.min(above + column, start - 1))
  }
  const end = endOfRow(cells, at)
  if (end === cells.length) return null
  return moved(line, Math.min(end + 1 + column, endOfRow(cells, end + 1)))
}

/** If the input ends with `\` and the cursor is after it: the input with a line break instead of the `\`.
 *  Otherwise null. */
export function continueLine(line: InputLine): InputLine | null {
  const { cells, at } = line
  if (at !== cells.length || cells.at(-1)?.value !== '\\') return null
  return inserted(without(line, at - 1, at), cellsOf('\n'))
}

/** Replaces the last `count` cells before the cursor. */
export function replaceBefore(line: InputLine, count: number, text: string): InputLine {
  return inserted(without(line, line.at - count, line.at), cellsOf(text))
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Splits into graphemes, so that the cursor does not stop inside an emoji or before an accent. */
function cellsOf(text: string): readonly InputCell[] {
  return Array.from(segmenter.segment(text), ({ segment }) => ({ value: segment, shown: segment }))
}

function pasteCells(text: string): readonly InputCell[] {
  const lines = text.replace(/\n$/, '').split('\n').length
  if (lines >= longPaste.lines) return [{ value: text, shown: `[pasted ${lines} lines]` }]
  if (text.length < longPaste.characters) return cellsOf(text)
  return [{ value: text, shown: `[pasted ${text.length} characters]` }]
}

function inserted(line: InputLine, cells: readonly InputCell[]): InputLine {
  const { at } = line
  return { ...line, cells: line.cells.toSpliced(at, 0, ...cells), at: at + cells.length }
}

function moved(line: InputLine, to: number): InputLine {
  const at = Math.max(0, Math.min(line.cells.length, to))
  return at === line.at ? line : { ...line, at }
}

function without(line: InputLine, from: number, to: number): InputLine {
  const [start, end] = [Math.max(0, from), Math.min(line.cells.length, to)]
  if (start >= end) return line
  const at = line.at <= start ? line.at : Math.max(start, line.at - (end - start))
  return { ...line, cells: line.cells.toSpliced(start, end - start), at }
}

function killed(line: InputLine, from: number, to: number): InputLine {
  const shorter = without(line, from, to)
  return shorter === line ? line : { ...shorter, cut: line.cells.slice(from, to) }
}

function startOfRow(cells: readonly InputCell[], at: number): number {
  let start = at
  while (start > 0 && cells[start - 1]!.value !== '\n') start--
  return start
}

function endOfRow(cells: readonly InputCell[], at: number): number {
  let end = at
  while (end < cells.length && cells[end]!.value !== '\n') end++
  return end
}

function wordBefore(cells: readonly InputCell[], at: number): number {
  let to = at
  while (to > 0 && isBlank(cells[to - 1]!)) to--
  while (to > 0 && !isBlank(cells[to - 1]!)) to--
  return to
}

function wordAfter(cells: readonly InputCell[], at: number): number {
  let to = at
  while (to < cells.length && isBlank(cells[to]!)) to++
  while (to < cells.length && !isBlank(cells[to]!)) to++
  return to
}

function isBlank({ value }: InputCell): boolean {
  return value.trim() === ''
}
