import { isTerminalAt } from '../output/output.ts'

/** Calls back when the terminal is closed, each time the system says so: the shell and the system may both do
 *  it. A command that prints its errors elsewhere ignores the signal. `nohup` asks for that, but Node sets
 *  ignored signals back to their default when it starts. */
export function onHangUp(callback: () => void): void {
  process.on('SIGHUP', isTerminalAt(2) ? callback : () => undefined)
}
