import type { Run } from '../../agent/run/run.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { noteLine } from '../output/print.ts'

/** What Ctrl+C does during a run. The first press aborts the run and keeps what has arrived. The second one
 *  leaves as soon as the end of the turn is stored, or known to wait for the store: that takes a moment,
 *  unless the store is locked. The third one exits at once. */
export interface InterruptPresses {
  press(): void
  /** True after the second press. */
  readonly leaves: boolean
  /** Called after the run. */
  end(): void
}

export interface InterruptOptions {
  /** Called at the first press. */
  onAbort?(): void
  /** Called before a note, to end an unfinished line. */
  onNote?(): void
  /** Called before the process exits, to restore the terminal. */
  onExit?(): void
}

/** How long the end of a turn may take before a note says what the command waits for. */
const shortMs = 500

export function interruptPresses(
  run: Run,
  { err }: Pick<CommandContext, 'err'>,
  { onAbort, onNote, onExit }: InterruptOptions = {},
): InterruptPresses {
  let pressed = 0
  let timer: NodeJS.Timeout | undefined
  const note = (text: string) => {
    onNote?.()
    err.line(noteLine(text, err))
  }
  return {
    press() {
      pressed++
      if (pressed === 1) {
        onAbort?.()
        run.abort(new DOMException('interrupted', 'AbortError'))
      } else if (pressed === 2)
        timer = setTimeout(() => note('saving this turn before leaving. Ctrl+C leaves without it'), shortMs)
      else {
        note('left at once: the part of this turn that was not saved yet is lost')
        onExit?.()
        process.exit(exitCode.interrupted)
      }
    },
    get leaves() {
      return pressed > 1
    },
    end: () => clearTimeout(timer),
  }
}
