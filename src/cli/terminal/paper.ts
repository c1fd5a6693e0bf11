import type { Writable } from 'node:stream'
import { type Style, styleFor } from './style.ts'

/** One of the two streams, and what can be seen on it. Each is a terminal or not, by itself. */
export interface Paper {
  readonly isTerminal: boolean
  /** Columns of the terminal, 80 elsewhere. Asked for each time: people resize. */
  readonly width: number
  readonly rows: number
  readonly style: Style
  /** Writes as it is. Text that was stored goes through `style.safe` first. */
  write(text: string): void
  line(text?: string): void
  readonly stream: Writable
}

type Env = Readonly<Record<string, string | undefined>>

export function paperOn(
  stream: NodeJS.WriteStream,
  env: Env,
  options: { readonly noColor?: boolean } = {},
): Paper {
  const isTerminal = stream.isTTY === true
  const paper: Paper = {
    isTerminal,
    get width() {
      return (isTerminal && stream.columns) || 80
    },
    get rows() {
      return (isTerminal && stream.rows) || 24
    },
    style: styleFor({ isTerminal, env, noColor: options.noColor ?? false }),
    write: text => void stream.write(text),
    line: (text = '') => void stream.write(`${text}\n`),
    stream,
  }
  return paper
}
