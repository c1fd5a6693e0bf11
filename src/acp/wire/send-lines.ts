import type { Writable } from 'node:stream'
import type { Connection } from './connection.ts'

const lineEnd = Buffer.from('\n')

/** The half of a connection that sends. */
export type LineSender = Pick<Connection, 'send' | 'unsent' | 'close'>

/** Sends lines to a stream. One that nobody reads any more takes them and drops them; `onBroken` is told why,
 *  once. */
export function createLineSender(
  output: Writable,
  { onDrain, onBroken }: { onDrain?(): void; onBroken?(error: Error): void },
): LineSender {
  let isOpen = true
  let isDrained = true

  function drained(): void {
    if (isDrained || output.writableLength > 0) return
    isDrained = true
    onDrain?.()
  }

  function broke(error?: Error): void {
    const wasOpen = isOpen
    isOpen = false
    if (!isDrained) {
      isDrained = true
      onDrain?.()
    }
    if (wasOpen && error) onBroken?.(error)
  }

  output.on('error', broke)
  output.on('close', () => broke())

  return {
    send(line) {
      if (!isOpen || !output.writable) return
      isDrained = false
      output.write(typeof line === 'string' ? `${line}\n` : Buffer.concat([line, lineEnd]), drained)
    },
    get unsent() {
      return isDrained ? 0 : output.writableLength
    },
    close() {
      output.end()
    },
  }
}
