import type { Outputs } from './output.ts'
import { formatDuration } from './time.ts'

/** A line that shows that work is in progress, on a terminal only. */
export interface Spinner {
  /** Shows what is awaited, after 300 ms. */
  start(what: string): void
  /** Erases the line. */
  stop(): void
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const plainFrames = ['|', '/', '-', '\\']

/** Only if both streams are terminals: elsewhere the output is recorded. */
export function createSpinner({ err, out, quiet, json }: Outputs): Spinner {
  if (!err.isTerminal || !out.isTerminal || quiet || json) {
    return { start: () => undefined, stop: () => undefined }
  }
  const { style } = err
  let timer: NodeJS.Timeout | undefined
  let isShown = false
  const stop = () => {
    clearInterval(timer)
    timer = undefined
    if (isShown) err.write('\r\x1b[K')
    isShown = false
  }
  return {
    start(what) {
      stop()
      const began = performance.now()
      const signs = style.unicode ? frames : plainFrames
      let n = 0
      timer = setInterval(() => {
        const took = performance.now() - began
        if (took < 300) return
        const sign = signs[n++ % signs.length]
        const seconds =
          took < 1000 ? '' : ` ${style.symbols.dot} ${formatDuration(Math.floor(took / 1000) * 1000)}`
        err.write(`\r\x1b[K${style.faint(`${sign} ${style.safe(what)}${seconds}`)}`)
        isShown = true
      }, 100)
      timer.unref()
    },
    stop,
  }
}
