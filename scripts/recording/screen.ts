/** The style of a character. */
export interface Look {
  readonly bold: boolean
  readonly faint: boolean
  readonly inverse: boolean
  /** 1 to 6 of the eight colours; null for the terminal's default. */
  readonly colour: number | null
}

export const plainLook: Look = { bold: false, faint: false, inverse: false, colour: null }

/** Characters of the same style, starting at a column. */
export interface Span {
  readonly column: number
  readonly text: string
  readonly look: Look
}

interface Cell {
  readonly character: string
  readonly look: Look
}

const empty: Cell = { character: ' ', look: plainLook }

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is sent
const pieces = /\x1b\[([0-?]*)[ -/]*([@-~])|\x1b\][^\x07]*\x07|\x1b[=>]|[\r\n\b\x07]|[^\x1b\r\n\b\x07]/gu

/** The screen of a terminal of this size after this output. It supports the sequences that the command and a
 *  plain shell use, and throws for any other, because the picture would be wrong. */
export function screenOf(sent: string, columns: number, rows: number): readonly (readonly Span[])[] {
  let grid: Cell[][] = Array.from({ length: rows }, () => [])
  let [row, column] = [0, 0]
  let look = plainLook

  const lineFeed = () => {
    if (row < rows - 1) row++
    else grid = [...grid.slice(1), []]
  }
  const put = (character: string) => {
    if (column >= columns) {
      column = 0
      lineFeed()
    }
    const line = grid[row]!
    while (line.length < column) line.push(empty)
    line[column++] = { character, look }
  }
  const erase = (verb: string, how: number) => {
    const line = grid[row]!
    if (how === 2) grid = verb === 'J' ? grid.map(() => []) : grid.with(row, [])
    else if (how === 0) line.length = Math.min(line.length, column)
    else throw new Error(`not known here: erase ${how}${verb}`)
    if (verb === 'J' && how === 0) for (let below = row + 1; below < rows; below++) grid[below] = []
  }
  const move = (verb: string, n: number, all: string) => {
    if (verb === 'A') row = Math.max(0, row - n)
    else if (verb === 'B') row = Math.min(rows - 1, row + n)
    else if (verb === 'C') column = Math.min(columns - 1, column + n)
    else if (verb === 'D') column = Math.max(0, column - n)
    else if (verb === 'H' && all === '') [row, column] = [0, 0]
    else throw new Error(`not known here: CSI ${all}${verb}`)
  }

  for (const [piece, given = '', verb] of sent.matchAll(pieces)) {
    if (piece === '\r') column = 0
    else if (piece === '\n') lineFeed()
    else if (piece === '\b') column = Math.max(0, column - 1)
    else if (verb === 'm') look = changed(look, given)
    else if (verb === 'J' || verb === 'K') erase(verb, Number(given || 0))
    else if (verb === 'h' || verb === 'l' || piece === '\x07' || isSetting(piece)) continue
    else if (verb !== undefined) move(verb, Number(given || 1), given)
    else put(piece)
  }
  return grid.map(spansOf)
}

/** Titles and keypad modes, which are invisible. */
function isSetting(piece: string): boolean {
  return ['\x1b]', '\x1b=', '\x1b>'].includes(piece.slice(0, 2))
}

function changed(look: Look, given: string): Look {
  let now = look
  for (const code of given.split(';')) now = { ...now, ...changeBy(Number(code || 0)) }
  return now
}

function changeBy(code: number): Partial<Look> {
  if (code === 0) return plainLook
  if (code === 1) return { bold: true }
  if (code === 2) return { faint: true }
  if (code === 7) return { inverse: true }
  if (code === 22) return { bold: false, faint: false }
  if (code === 27) return { inverse: false }
  if (code >= 31 && code <= 36) return { colour: code - 30 }
  if (code === 39) return { colour: null }
  throw new Error(`not known here: colour ${code}`)
}

function spansOf(cells: readonly Cell[]): readonly Span[] {
  const spans: { column: number; text: string; look: Look }[] = []
  for (const [column, { character, look }] of cells.entries()) {
    const last = spans.at(-1)
    if (last && same(last.look, look)) last.text += character
    else spans.push({ column, text: character, look })
  }
  return spans.filter(({ text, look }) => text.trim() !== '' || look.inverse)
}

function same(a: Look, b: Look): boolean {
  return a.bold === b.bold && a.faint === b.faint && a.inverse === b.inverse && a.colour === b.colour
}

/** The same as text, without empty lines at the end. */
export function textOfScreen(screen: readonly (readonly Span[])[]): string {
  const lines = screen.map(spans =>
    spans.reduce((line, { column, text }) => line.padEnd(column) + text, '').trimEnd(),
  )
  return lines.join('\n').trimEnd()
}
