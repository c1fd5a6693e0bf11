import { collapseSpaces } from '../../../core/collapse-spaces.ts'
import { cut, widthOf } from '../../output/cut.ts'
import type { Output } from '../../output/output.ts'
import { applyKey, emptyInput, inputText } from './input-line.ts'
import type { Keyboard } from './keyboard.ts'
import type { ScreenLayout } from './screen-layout.ts'
import type { ScreenRegion } from './screen-region.ts'

/** What a search ends with. `runs`: Enter was pressed, so the line is sent at once, as in a shell. */
export interface FoundLine {
  /** Null if the search was left without a line. */
  readonly text: string | null
  readonly runs: boolean
}

export interface LineSearchOptions {
  readonly keyboard: Keyboard
  readonly output: Output
  /** The line above the prompt. */
  status?(width: number): string
}

/** Ctrl+R: finds the newest line that contains the typed text, ignoring case. Ctrl+R again or Up finds an
 *  older one, Down a newer one. Enter sends the line, Escape and Ctrl+C leave the search, other keys take the
 *  line for editing. */
export async function searchHistory(
  lines: readonly string[],
  { keyboard, output, status }: LineSearchOptions,
  region: ScreenRegion,
): Promise<FoundLine> {
  let typed = emptyInput
  /** The index of the found line; the number of lines before the first search. */
  let at = lines.length
  for (;;) {
    const wanted = inputText(typed)
    const found = lines[at] ?? null
    region.paint(laidOut(wanted, found, output, status))
    const stroke = await keyboard.next()
    if (stroke.type === 'closed') return { text: null, runs: false }
    if (stroke.type === 'woken') region.forget()
    if (stroke.type === 'resize' || stroke.type === 'woken') continue
    const name = stroke.type === 'key' ? stroke.name : null
    if (name === 'enter') return { text: found, runs: found !== null }
    if (name === 'escape' || name === 'interrupt' || name === 'editor') return { text: null, runs: false }
    if (name === 'search' || name === 'up') {
      at = olderThan(at, wanted, lines, found) ?? at
      continue
    }
    if (name === 'down') {
      at = newerThan(at, wanted, lines, found) ?? at
      continue
    }
    if (name !== null && name !== 'backspace' && name !== 'kill-before' && name !== 'kill-word')
      return { text: found, runs: false }
    typed = applyKey(
      typed,
      stroke.type === 'paste' ? { type: 'text', text: collapseSpaces(stroke.text) } : stroke,
    )
    const next = inputText(typed)
    if (next === '') at = lines.length
    // A longer text may still fit the found line.
    else at = olderThan(Math.min(lines.length, at + 1), next, lines, null) ?? newest(next, lines)
  }
}

/** The next older line that contains the text and is another one. */
function olderThan(at: number, text: string, lines: readonly string[], not: string | null): number | null {
  for (let i = at - 1; i >= 0; i--) if (lines[i] !== not && contains(lines[i]!, text)) return i
  return null
}

function newerThan(at: number, text: string, lines: readonly string[], not: string | null): number | null {
  for (let i = at + 1; i < lines.length; i++) if (lines[i] !== not && contains(lines[i]!, text)) return i
  return null
}

function newest(text: string, lines: readonly string[]): number {
  return olderThan(lines.length, text, lines, null) ?? lines.length
}

function contains(line: string, text: string): boolean {
  return line.toLowerCase().includes(text.toLowerCase())
}

function laidOut(
  typed: string,
  found: string | null,
  { width, style }: Output,
  status: LineSearchOptions['status'],
): ScreenLayout {
  const above = status ? [status(Math.max(20, width - 1))] : []
  const room = Math.max(10, width - 1)
  const words = style.safe(typed.replace(/\s/g, ' '))
  const label = `search: ${words}`
  const none = typed !== '' && found === null ? '  nothing found' : ''
  const line = found === null ? none : `  ${style.symbols.prompt} ${collapseSpaces(style.safe(found))}`
  const rest = cut(line, Math.max(0, room - widthOf(label)), style.symbols.dots)
  const keys = style.faint(
    cut('  ctrl+r older · enter send · tab edit · esc leave', room, style.symbols.dots),
  )
  const row = `${style.faint('search: ')}${words}${found === null ? style.faint(rest) : style.title(rest)}`
  return {
    rows: [...above, row, keys],
    cursor: { row: above.length, column: Math.min(room, widthOf(label)) },
  }
}
