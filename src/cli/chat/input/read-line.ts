import type { Output } from '../../output/output.ts'
import { type Candidate, type Completer, completeLine } from './complete-line.ts'
import type { InputHistory } from './input-history.ts'
import {
  applyKey,
  continueLine,
  emptyInput,
  type InputLine,
  inputLine,
  inputText,
  moveByRow,
  typedText,
} from './input-line.ts'
import type { Keyboard } from './keyboard.ts'
import { offeredRows } from './offered-rows.ts'
import { clipLayout, layOutLine, type ScreenLayout } from './screen-layout.ts'
import { createScreenRegion } from './screen-region.ts'
import { searchHistory } from './search-history.ts'

/** The outcome of reading a line. `interrupt`: Ctrl+C on an empty line; `leave`: Ctrl+D, or the input has
 *  ended. */
export type ReadLineResult =
  | {
      readonly type: 'line'
      readonly text: string
      /** The text without long pastes, which the user has not seen. */
      readonly typed: string
    }
  | { readonly type: 'interrupt' }
  | { readonly type: 'leave' }

export interface ReadLineOptions {
  readonly keyboard: Keyboard
  readonly output: Output
  /** The line above the prompt, for a given width. */
  status?(width: number): string
  /** Lines to print above the prompt, each once. Asked again after `Keyboard.repaint`. */
  news?(): readonly string[]
  /** The initial text. */
  readonly initial?: string
  readonly history?: InputHistory
  readonly complete?: Completer
  /** Edits a text in another program, for Ctrl+G. Returns null if it stays as it is. */
  edit?(text: string): Promise<string | null>
  /** Replaces a paste, such as a path by a mention of the file. */
  pasted?(text: string): string
  /** True if Escape ends the input, as Ctrl+C on an empty line does. Default: false. */
  readonly canEscape?: boolean
}

/** Reads one input. `\` at the end, Alt+Enter and pastes continue it on another line. */
export async function readLine(reading: ReadLineOptions): Promise<ReadLineResult> {
  const { keyboard, output, history } = reading
  const region = createScreenRegion(output)
  let line: InputLine = reading.initial ? inputLine(reading.initial) : emptyInput
  let offered: readonly Candidate[] = []
  const lines = history?.lines ?? []
  let at = lines.length
  const drafts = new Map<number, InputLine>()

  const paint = () => region.paint(laidOut(reading, line, offered))
  const recall = (to: number) => {
    if (to < 0 || to > lines.length) return
    drafts.set(at, line)
    at = to
    line = drafts.get(to) ?? inputLine(lines[to] ?? '')
  }
  const end = (read: ReadLineResult): ReadLineResult => {
    offered = []
    paint()
    region.leave()
    return read
  }

  for (;;) {
    const news = reading.news?.() ?? []
    if (news.length > 0) region.erase()
    for (const one of news) output.line(`${one}\n`)
    paint()
    const stroke = await keyboard.next()
    if (stroke.type === 'closed') return end({ type: 'leave' })
    if (stroke.type === 'woken') region.forget()
    if (stroke.type === 'resize' || stroke.type === 'woken') continue
    offered = []
    const name = stroke.type === 'key' ? stroke.name : null
    const isEmpty = line.cells.length === 0
    if (name === 'enter') {
      const longer = continueLine(line)
      if (longer === null) return end({ type: 'line', text: inputText(line), typed: typedText(line) })
      line = longer
    } else if (name === 'escape' && reading.canEscape) return end({ type: 'interrupt' })
    else if (name === 'interrupt') {
      if (isEmpty) return end({ type: 'interrupt' })
      end({ type: 'interrupt' })
      line = emptyInput
      at = lines.length
    } else if (name === 'end-of-input' && isEmpty) return end({ type: 'leave' })
    else if (name === 'up') {
      const above = moveByRow(line, -1)
      if (above) line = above
      else recall(at - 1)
    } else if (name === 'down') {
      const below = moveByRow(line, 1)
      if (below) line = below
      else recall(at + 1)
    } else if (name === 'tab') {
      const found = reading.complete ? await completeLine(line, reading.complete) : { line, offered: [] }
      line = found.line
      offered = found.offered
    } else if (name === 'search' && history) {
      const found = await searchHistory(history.all, reading, region)
      if (found.text !== null) line = inputLine(found.text)
      if (found.runs) return end({ type: 'line', text: inputText(line), typed: typedText(line) })
    } else if (name === 'editor' && reading.edit) {
      region.erase()
      const edited = await reading.edit(inputText(line))
      if (edited !== null) line = inputLine(edited)
    } else if (stroke.type === 'paste' && reading.pasted) {
      line = applyKey(line, { type: 'paste', text: reading.pasted(stroke.text) })
    } else if (name === 'redraw') {
      region.erase()
      output.write('\x1b[H\x1b[2J')
    } else line = applyKey(line, stroke)
  }
}

function laidOut(
  { output, status }: ReadLineOptions,
  line: InputLine,
  offered: readonly Candidate[],
): ScreenLayout {
  const { width, rows, style } = output
  const above = status ? [status(Math.max(20, width - 1))] : []
  const below = offeredRows(offered, output)
  const most = Math.max(1, rows - above.length - below.length)
  const written = clipLayout(layOutLine(line, width, style), most)
  return {
    rows: [...above, ...written.rows, ...below],
    cursor: { ...written.cursor, row: written.cursor.row + above.length },
  }
}
