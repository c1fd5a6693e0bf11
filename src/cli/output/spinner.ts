import type { Outputs } from './output.ts'
import { formatDuration } from './time.ts'

/** A line that shows that something is going on, on a terminal only. */
export interface Spinner {
  /** Something is awaited: shown if it takes longer than 300 ms. */
  start(what: string): void
  /** Takes the line away. */
  stop(): void
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const plainFrames = ['|', '/', '-', '\\']

/** Progress is erased when it is done; where somebody else reads along, there is none. */
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
