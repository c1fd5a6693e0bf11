import type { Writable } from 'node:stream'
import type { Connection } from './connection.ts'

const lineEnd = Buffer.from('\n')

/** The sending half of a connection. */
export type LineSender = Pick<Connection, 'send' | 'unsent' | 'close'>

/** Sends lines to a stream. If the reader has gone, lines are dropped, and `onBroken` is called once with the
 *  reason. */
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
