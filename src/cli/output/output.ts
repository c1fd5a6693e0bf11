import { once } from 'node:events'
import { fstatSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { type Style, styleFor } from './style.ts'

/** stdout or stderr, and what it can display. Each is a terminal or not, independently. */
export interface Output {
  readonly isTerminal: boolean
  /** Columns of the terminal, or 80. A getter, because the terminal can be resized. */
  readonly width: number
  readonly rows: number
  readonly style: Style
  /** Writes the text unchanged. Stored text has to pass `style.safe` first. */
  write(text: string): void
  line(text?: string): void
  /** Waits until a slow reader has taken most of the output. */
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
  /** Called if the output cannot be written: a closed pipe, a full disk. */
  onLost(error: Error): void
}

/** Opens stdout (1) or stderr (2). Node's stream is created on first use. Pipes and files are written without
 *  it, because loading `net` takes longer than the query of a short command. */
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
    // Once there is a stream, it may hold buffered text, which a direct write would overtake.
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

/** Whether the descriptor is a terminal. Pipes, files and, on Linux, the memory devices (major 1, such as
 *  `/dev/null`) are recognized without loading `tty`. */
export function isTerminalAt(fd: 0 | 1 | 2): boolean {
  if (process.platform !== 'win32') {
    const stat = fstatSync(fd)
    if (!stat.isCharacterDevice()) return false
    if (process.platform === 'linux' && stat.rdev >> 8 === 1) return false
  }
  return process.getBuiltinModule('node:tty').isatty(fd)
}

/** Writes synchronously, and returns the rest if a pipe is full. */
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
