import { widthOf } from '../../output/cut.ts'
import type { Output } from '../../output/output.ts'
import type { ScreenLayout } from './screen-layout.ts'

/** The lowest rows of a terminal, repainted in the same place. The rows above are never touched. */
export interface ScreenRegion {
  paint(laid: ScreenLayout): void
  /** Leaves the rows in place and moves the cursor below them. */
  leave(): void
  /** Erases the rows. */
  erase(): void
  /** Called after other output: the next rows start at the cursor. */
  forget(): void
}

export function createScreenRegion(output: Output): ScreenRegion {
  let painted: ScreenLayout | null = null

  /** The escape sequence that moves to the first row. After a resize, the terminal has rewrapped the rows. */
  function toStart(): string {
    if (painted === null) return '\r'
    const { rows, cursor } = painted
    const { width } = output
    const above = rows.slice(0, cursor.row).reduce((sum, row) => sum + rowsTaken(row, width), 0)
    const up = above + Math.floor(cursor.column / width)
    return up > 0 ? `\r\x1b[${up}A` : '\r'
  }

  return {
    paint(laid) {
      const { rows, cursor } = laid
      const up = rows.length - 1 - cursor.row
      const back = up > 0 ? `\x1b[${up}A` : ''
      const right = cursor.column > 0 ? `\x1b[${cursor.column}C` : ''
      output.write(`${toStart()}\x1b[J${rows.join('\r\n')}${back}\r${right}`)
      painted = laid
    },
    leave() {
      if (painted === null) return
      const { rows, cursor } = painted
      const down = rows.length - 1 - cursor.row
      output.write(`${down > 0 ? `\x1b[${down}B` : ''}\r\n`)
      painted = null
    },
    forget() {
      painted = null
    },
    erase() {
      if (painted === null) return
      output.write(`${toStart()}\x1b[J`)
      painted = null
    },
  }
}

function rowsTaken(row: string, width: number): number {
  return Math.max(1, Math.ceil(widthOf(row) / width))
}
