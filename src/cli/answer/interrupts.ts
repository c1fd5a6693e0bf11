import type { Run } from '../../agent/run.ts'
import { exit } from '../command-line/exit-code.ts'

/** While a run goes on: Ctrl+C stops it and keeps what was said, a second one leaves at once. Returns how to end this. */
export function stopOnCtrlC(run: Run, leave: () => void = () => process.exit(exit.interrupted)): () => void {
  let pressed = 0
  const onInterrupt = () => {
    pressed++
    if (pressed === 1) run.abort(new DOMException('interrupted', 'AbortError'))
    else leave()
  }
  process.on('SIGINT', onInterrupt)
  return () => process.removeListener('SIGINT', onInterrupt)
}
