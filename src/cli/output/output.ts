import { once } from 'node:events'
import { fstatSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { type Style, styleFor } from './style.ts'

/** One of the two streams, and what can be seen on it. Each is a terminal or not, by itself. */
export interface Output {
  readonly isTerminal: boolean
  /** Columns of the terminal, 80 elsewhere. Asked for each time: people resize. */
  readonly width: number
  readonly rows: number
  readonly style: Style
  /** Writes as it is. Text that was stored goes through `style.safe` first. */
  write(text: string): void
  line(text?: string): void
  /** Waits until a slow reader has taken most of what was written. */
  drained(): Promise<void>
  readonly stream: Writable
}

/** The two streams of a command, and what the user wants on them. */
export interface Outputs {
  /** The answer or the data. */
  readonly out: Output
  /** Everything about it: headers, notes, progress, receipts, errors. */
  readonly err: Output
  readonly json: boolean
  readonly quiet: boolean
}

type Env = Readonly<Record<string, string | undefined>>

export interface OutputOptions {
  readonly noColor?: boolean
  /** Called when nobody can read what is written: a pipe that was closed, a disk that is full. */
  onLost(error: Error): void
}

/** Standard output (1) or error (2). Node's stream for it, and all of `net` behind it, is made when something asks for
 *  it; a pipe or a file is written without, because making it takes longer than the query of a short command. */
export function openOutput(fd: 1 | 2, env: Env, { noColor = false, onLost }: OutputOptions): Output {
  const isTerminal = isTerminalAt(fd)
  let made: NodeJS.WriteStream | undefined
  let style: Style | undefined
  const stream = () => {
    if (!made) {
      made = fd === 1 ? process.stdout : process.stderr
      made.on('error', onLost)
    }
    return made
  }
  const write = (text: string) => {
    // Once there is a stream, something may wait in it, and would be overtaken.
    const left = made || isTerminal ? text : writeNow(fd, text, onLost)
    if (left.length > 0) stream().write(left)
  }
  return {
    isTerminal,
    get width() {
      return (isTerminal && stream().columns) || 80
    },
    get rows() {
      return (isTerminal && stream().rows) || 24
    },
    get style() {
      style ??= styleFor({ isTerminal, env, noColor })
      return style
    },
    write,
    line: (text = '') => write(`${text}\n`),
    async drained() {
      if (made?.writableNeedDrain) await once(made, 'drain')
    },
    get stream() {
      return stream()
    },
  }
}

/** Whether a person sits at this end. Nearly everything else is told from a terminal without loading `tty`: a pipe, a
 *  file, and on Linux the devices of memory (major 1), which `/dev/null` is one of. */
export function isTerminalAt(fd: 0 | 1 | 2): boolean {
  if (process.platform !== 'win32') {
    const stat = fstatSync(fd)
    if (!stat.isCharacterDevice()) return false
    if (process.platform === 'linux' && stat.rdev >> 8 === 1) return false
  }
  return process.getBuiltinModule('node:tty').isatty(fd)
}

/** Writes at once, and returns what a reader who does not make us wait could not take yet. */
function writeNow(fd: number, text: string, onLost: (error: Error) => void): Uint8Array {
  let left: Uint8Array = Buffer.from(text)
  try {
    while (left.length > 0) left = left.subarray(writeSync(fd, left))
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (!('code' in error && error.code === 'EAGAIN')) {
      onLost(error)
      return new Uint8Array()
    }
  }
  return left
}
