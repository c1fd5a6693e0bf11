import { exitCode } from './exit-code.ts'
import { onHangUp } from './on-hang-up.ts'

/** Resolves with the first SIGINT or SIGTERM, or when the terminal is closed. A second one ends the
 *  process at once. */
export function untilSignal(): Promise<void> {
  return new Promise(resolve => {
    let isStopping = false
    const stop = () => {
      if (isStopping) process.exit(exitCode.interrupted)
      isStopping = true
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
    onHangUp(resolve)
  })
}
