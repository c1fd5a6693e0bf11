import { cut } from '../../output/cut.ts'
import type { Paper } from '../../output/output.ts'
import { wrap } from '../../output/wrap.ts'
import { type Completer, completed } from './complete.ts'
import type { Keyboard } from './keyboard.ts'
import { type Laid, layOut, within } from './layout.ts'
import { continued, edited, emptyLine, type Line, lineOf, movedByRow, textOfLine } from './line.ts'
import { regionOn } from './region.ts'
import type { TypedBefore } from './typed-before.ts'

/** What came of asking for a line. `interrupt`: Ctrl+C on an empty line; `leave`: Ctrl+D, or nobody is there any more. */
export type LineRead =
  | { readonly type: 'line'; readonly text: string }
  | { readonly type: 'interrupt' }
  | { readonly type: 'leave' }

export interface Reading {
  readonly keyboard: Keyboard
  readonly paper: Paper
  /** The line above the prompt, made for a width. */
  status?(width: number): string
  /** What stands in the line already. */
  readonly initial?: string
  readonly typed?: TypedBefore
  readonly complete?: Completer
}

/** Reads a line, or several: `\` at the end, Alt+Enter and pastes go on in the next one. */
export async function readLine(reading: Reading): Promise<LineRead> {
  const { keyboard, paper, typed } = reading
  const region = regionOn(paper)
  let line: Line = reading.initial ? lineOf(reading.initial) : emptyLine
  let offered: readonly string[] = []
  const lines = typed?.lines ?? []
  let at = lines.length
  const drafts = new Map<number, Line>()

  const paint = () => region.paint(laidOut(reading, line, offered))
  const recall = (to: number) => {
    if (to < 0 || to > lines.length) return
    drafts.set(at, line)
    at = to
    line = drafts.get(to) ?? lineOf(lines[to] ?? '')
  }
  const end = (read: LineRead): LineRead => {
    offered = []
    paint()
    region.leave()
    return read
  }

  for (;;) {
    paint()
    const stroke = await keyboard.next()
    if (stroke.type === 'closed') return end({ type: 'leave' })
    if (stroke.type === 'woken') region.forget()
    if (stroke.type === 'resize' || stroke.type === 'woken') continue
    offered = []
    const name = stroke.type === 'key' ? stroke.name : null
    const isEmpty = line.cells.length === 0
    if (name === 'enter') {
      const longer = continued(line)
      if (longer === null) return end({ type: 'line', text: textOfLine(line) })
      line = longer
    } else if (name === 'interrupt') {
      if (isEmpty) return end({ type: 'interrupt' })
      end({ type: 'interrupt' })
      line = emptyLine
      at = lines.length
    } else if (name === 'end-of-input' && isEmpty) return end({ type: 'leave' })
    else if (name === 'up') {
      const above = movedByRow(line, -1)
      if (above) line = above
      else recall(at - 1)
    } else if (name === 'down') {
      const below = movedByRow(line, 1)
      if (below) line = below
      else recall(at + 1)
    } else if (name === 'tab') {
      const found = reading.complete ? await completed(line, reading.complete) : { line, offered: [] }
      line = found.line
      offered = found.offered
    } else if (name === 'redraw') {
      region.erase()
      paper.write('\x1b[H\x1b[2J')
    } else line = edited(line, stroke)
  }
}

function laidOut({ paper, status }: Reading, line: Line, offered: readonly string[]): Laid {
  const { width, rows, style } = paper
  const above = status ? [status(Math.max(20, width - 1))] : []
  const below = offeredRows(offered, paper)
  const most = Math.max(1, rows - above.length - below.length)
  const written = within(layOut(line, width, style), most)
  return {
    rows: [...above, ...written.rows, ...below],
    cursor: { ...written.cursor, row: written.cursor.row + above.length },
  }
}

/** What Tab offers, in three rows at most. */
function offeredRows(offered: readonly string[], { width, style }: Paper): readonly string[] {
  if (offered.length === 0) return []
  const rows = wrap(style.safe(offered.join('  ')), width - 3)
  const shown = rows.length > 3 ? [...rows.slice(0, 2), `${rows[2]} ${style.symbols.dots}`] : rows
  return shown.map(row => style.faint(`  ${cut(row, width - 3, style.symbols.dots)}`))
}
