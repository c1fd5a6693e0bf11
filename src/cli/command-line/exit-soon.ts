import { exitCode } from './exit-code.ts'

/** How long a command that was stopped may clean up, in milliseconds. */
const graceMs = 300

/** Ends the process soon, also if the command does not watch its signal. A transaction that has not been
 *  committed is undone. */
export function exitSoon(): void {
  setTimeout(() => process.exit(process.exitCode ?? exitCode.interrupted), graceMs).unref()
}
