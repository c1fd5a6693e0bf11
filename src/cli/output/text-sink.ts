import type { Outputs } from './output.ts'
import type { Style } from './style.ts'

/** Receives the text of an answer, piece by piece. */
export interface TextSink {
  push(text: string): void
  /** Waits until all text is shown, and not only taken: colours of code may have to be loaded first. */
  settled(): Promise<void>
  /** Ends an unfinished line. Called before other output, and at the end. More text may follow. */
  pause(): void
  /** The cells of the unfinished line on a terminal; 0 at the start of a line, and elsewhere. */
  readonly column: number
}

/** Writes the same bytes to a terminal and to a pipe. Text after a pause starts a new paragraph. */
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
    settled: () => Promise.resolve(),
    pause() {
      write(stream.end())
      if (state === 'in a line') out.write('\n')
      if (state !== 'nothing') state = 'paused'
    },
    column: 0,
  }
}

/** Makes text that arrives in pieces safe to print (R17). */
export interface SafeStream {
  /** Returns what can be shown now. */
  push(piece: string): string
  /** Returns what was held back. */
  end(): string
}

/** Control characters are replaced one by one, so an escape sequence may be split anywhere. Only a CRLF and a
 *  surrogate pair must stay together: the first half waits for the second. */
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
