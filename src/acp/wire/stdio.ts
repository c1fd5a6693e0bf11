import type { Readable, Writable } from 'node:stream'
import type { Connection, ConnectionHandlers } from './connection.ts'
import { createLineSplitter, LineTooLong } from './read-lines.ts'
import { createLineSender } from './send-lines.ts'
import type { WireLine } from './wire-line.ts'

/** A client on two streams, such as our stdin and stdout. It has ended when its output ends, and also when it
 *  stops reading: an editor that exits does not say so first. */
export function stdioConnection(input: Readable, output: Writable, handlers: ConnectionHandlers): Connection {
  let isOver = false

  function end(reason?: Error): void {
    if (isOver) return
    isOver = true
    input.off('data', hear)
    // A stream that is being read would keep the process alive.
    input.pause()
    handlers.onEnd(reason)
  }

  const onLine = (line: WireLine) => {
    if (!isOver) handlers.onLine(line)
  }
  const lines = createLineSplitter(onLine)

  function hear(chunk: Buffer | string): void {
    try {
      lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
    } catch (error) {
      if (!(error instanceof LineTooLong)) throw error
      end(error)
      input.destroy()
    }
  }

  const sender = createLineSender(output, { onDrain: () => handlers.onDrain?.(), onBroken: end })
  input.on('data', hear)
  input.on('end', () => {
    lines.end()
    end()
  })
  input.on('error', end)
  input.on('close', () => end())

  return {
    send: sender.send,
    get unsent() {
      return sender.unsent
    },
    pause() {
      if (!isOver) input.pause()
    },
    resume() {
      if (!isOver) input.resume()
    },
    close: sender.close,
  }
}
