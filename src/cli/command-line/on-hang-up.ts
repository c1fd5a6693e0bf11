import { isTerminalAt } from '../output/output.ts'

/** Calls back when the terminal is closed, each time the system says so: the shell and the system may both do
 *  it. Does nothing if errors are not printed on a terminal: `nohup` ignores this signal and takes the
 *  terminal away, and a handler would undo that. */
export function onHangUp(callback: () => void): void {
  if (isTerminalAt(2)) process.on('SIGHUP', callback)
}
