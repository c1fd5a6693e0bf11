import { cut } from './cut.ts'
import { formatInteger } from './number.ts'
import type { Outputs } from './output.ts'

/** A progress bar, shown on a terminal only. */
export interface ProgressBar {
  show(done: number, total: number): void
  /** Erases the bar. */
  end(): void
}

const barCells = 20

/** Shown after 300 ms, at most ten times a second; after 2 s with the remaining time. `unit` is what is
 *  counted. */
export function createProgressBar({ err, quiet, json }: Outputs, verb: string, unit: string): ProgressBar {
  if (!err.isTerminal || quiet || json) return { show: () => undefined, end: () => undefined }
  const began = performance.now()
  let shownAt = began + 200
  let isShown = false
  return {
    show(done, total) {
      const now = performance.now()
      if (now - shownAt < 100) return
      shownAt = now
      isShown = true
      const { full, empty, dot, dots } = err.style.symbols
      const cells = total === 0 ? 0 : Math.min(barCells, Math.floor((done / total) * barCells))
      const bar = full.repeat(cells) + empty.repeat(barCells - cells)
      const left = ((now - began) / Math.max(1, done)) * (total - done)
      const time = now - began > 2_000 && done > 0 ? ` ${dot} ${Math.ceil(left / 1_000)} s left` : ''
      const line = `${verb} ${bar} ${formatInteger(done)} of ${formatInteger(total)} ${unit}${time}`
      err.write(`\r\x1b[K${cut(line, err.width - 1, dots)}`)
    },
    end() {
      if (isShown) err.write('\r\x1b[K')
      isShown = false
    },
  }
}
