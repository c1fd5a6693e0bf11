import type { Outputs } from './output.ts'
import type { Style } from './style.ts'

/** Where the words of an answer go, piece by piece. */
export interface TextSink {
  push(text: string): void
  /** A line that is not at its end is ended. Called before anything else is written, and at the end; more may follow. */
  pause(): void
}

/** The same bytes on a terminal and in a pipe. What comes after a pause is a new paragraph. */
export function stdoutSink({ out }: Pick<Outputs, 'out'>): TextSink {
  const stream = safeStream(out.style)
  let state: 'nothing' | 'in a line' | 'at a line start' | 'paused' = 'nothing'
  const write = (text: string) => {
    if (text === '') return
    if (state === 'paused') out.write('\n')
    out.write(text)
    state = text.endsWith('\n') ? 'at a line start' : 'in a line'
  }
  return {
    push: text => write(stream.push(text)),
    pause() {
      write(stream.end())
      if (state === 'in a line') out.write('\n')
      if (state !== 'nothing') state = 'paused'
    },
  }
}

/** Text that arrives in pieces, made harmless (R17). */
export interface SafeStream {
  /** What can be shown of it now. */
  push(piece: string): string
  /** What was held back at the end. */
  end(): string
}

/** Control characters are shown one by one, so it does not matter where an escape is torn apart. What does: a line
 *  break of two characters, and a character of two halves. The first half waits for the second. */
export function safeStream(style: Pick<Style, 'safe'>): SafeStream {
  let held = ''
  return {
    push(piece) {
      const text = held + piece
      const cutAt = /[\r\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length
      held = text.slice(cutAt)
      return style.safe(text.slice(0, cutAt))
    },
    end() {
      const rest = held
      held = ''
      return style.safe(rest.toWellFormed())
    },
  }
}
