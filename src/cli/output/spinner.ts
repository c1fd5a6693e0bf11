import { cut } from './cut.ts'
import type { Outputs } from './output.ts'
import { formatDuration } from './time.ts'

/** A line that shows that work is in progress, on a terminal only. */
export interface Spinner {
  /** Shows what is awaited, after a delay, and for how many seconds. Replaces an earlier text. */
  start(what: string, options?: SpinnerOptions): void
  /** Erases the line until the next `start`. Cheap, so it can be called for every piece of an answer. */
  hide(): void
  /** Erases the line and stops the timer. */
  stop(): void
}

export interface SpinnerOptions {
  /** When the wait began, by `performance.now()`. Default: now. */
  readonly since?: number
  /** How long to wait before the line appears. Default: 300 ms. */
  readonly delayMs?: number
  /** Counts the seconds down to this time, by `performance.now()`. The text contains `{}` in their place. */
  readonly until?: number
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const plainFrames = ['|', '/', '-', '\\']

/** True if a spinner can be seen: only if both streams are terminals, because elsewhere the output is
 *  recorded. */
export function canSpin({ err, out, quiet, json }: Outputs): boolean {
  return err.isTerminal && out.isTerminal && !quiet && !json
}

/** Creates a spinner. `column` is the position of the cursor in an unfinished line of text: the spinner is
 *  drawn below that line, and the cursor returns to it. */
export function createSpinner(outputs: Outputs, column: () => number = () => 0): Spinner {
  const { err } = outputs
  if (!canSpin(outputs)) return { start: () => undefined, hide: () => undefined, stop: () => undefined }
  const { style } = err
  const signs = style.unicode ? frames : plainFrames
  let timer: NodeJS.Timeout | undefined
  let shown: { readonly column: number } | null = null
  let current:
    | (Required<Pick<SpinnerOptions, 'since' | 'delayMs'>> & { text: string; until?: number })
    | null = null
  let n = 0

  /** Writes a row at the cursor, or below an unfinished line. */
  const draw = (at: number, row: string) =>
    err.write(at === 0 ? `\r\x1b[K${row}` : `\n\r\x1b[K${row}\x1b[A\r\x1b[${at}C`)

  const hide = () => {
    current = null
    if (shown) draw(shown.column, '')
    shown = null
  }

  const tick = () => {
    if (!current) return
    const { text, since, delayMs, until } = current
    const now = performance.now()
    const took = now - since
    if (took < delayMs) return
    const at = shown?.column ?? column()
    // At the right edge, the cursor cannot be put back: a terminal wraps there only with the next character.
    if (at > 0 && at % err.width === 0) return
    const seconds = formatDuration(Math.floor(took / 1000) * 1000)
    const words =
      until === undefined
        ? `${text}${took < 1000 ? '' : ` ${style.symbols.dot} ${seconds}`}`
        : text.replace('{}', formatDuration(Math.max(1, Math.ceil((until - now) / 1000)) * 1000))
    const row = cut(`${signs[n++ % signs.length]} ${style.safe(words)}`, err.width - 1, style.symbols.dots)
    draw(at % err.width, style.faint(row))
    shown = { column: at % err.width }
  }

  return {
    start(text, { since = performance.now(), delayMs = 300, until } = {}) {
      hide()
      current = { text, since, delayMs, ...(until === undefined ? {} : { until }) }
      timer ??= setInterval(tick, 100).unref()
    },
    hide,
    stop() {
      hide()
      clearInterval(timer)
      timer = undefined
    },
  }
}
