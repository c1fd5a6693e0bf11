import { type IPty, spawn } from '@lydell/node-pty'
import { commandLine, type Home } from './skein.ts'

/** A command in a real pseudo-terminal. */
export interface Terminal {
  /** Everything that was printed so far, including escape sequences. */
  readonly raw: string
  /** The screen and the scrollback as text: one line for each printed line. */
  screen(): string
  /** Types keys. Enter is `\r`. */
  type(keys: string): void
  /** Waits until the text is on the screen. Fails with the screen if the command ends first, or after the
   *  timeout. */
  see(text: string | RegExp): Promise<void>
  /** The same, for output after the last `type`. */
  seeNext(text: string | RegExp): Promise<void>
  /** Waits until the text was shown at some time after the last `type`, even if it is erased by now: a row of
   *  a spinner may be gone before a busy machine looks. Line breaks and colours do not count. */
  seePassing(text: RegExp): Promise<void>
  resize(columns: number, rows: number): void
  /** The exit code. */
  readonly ended: Promise<number>
  kill(signal?: string): void
  /** Closes the window: the terminal is gone, and the system sends SIGHUP. */
  hangUp(): void
  [Symbol.dispose](): void
}

export interface TerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** How long to wait for something to appear. Default: 30 s. */
  readonly patienceMs?: number
}

/** The command itself. */
export function terminal(here: Home, args: readonly string[], options: TerminalOptions = {}): Terminal {
  const [file, argv] = commandLine(args)
  return program(here, file, argv, options)
}

/** Any program, such as a shell. */
export function program(
  here: Home,
  file: string,
  args: readonly string[],
  { columns = 80, rows = 30, env = {}, cwd = here.cwd, patienceMs = 30_000 }: TerminalOptions = {},
): Terminal {
  const pty: IPty = spawn(file, [...args], {
    name: 'xterm-256color',
    cols: columns,
    rows,
    cwd,
    env: { ...here.env, TERM: 'xterm-256color', ...env } as Record<string, string>,
  })
  let raw = ''
  let mark = 0
  let over = false
  let wake = Promise.withResolvers<void>()
  const changed = () => {
    wake.resolve()
    wake = Promise.withResolvers()
  }
  pty.onData(data => {
    raw += data
    changed()
  })
  const ended = new Promise<number>(resolve => {
    pty.onExit(({ exitCode, signal }) => {
      over = true
      changed()
      resolve(signal ? 128 + signal : exitCode)
    })
  })
  const widths: Width[] = [{ from: 0, columns }]
  const screen = (from = 0) => {
    const shifted = widths.map(({ from: start, columns }) => ({ from: Math.max(0, start - from), columns }))
    return rendered(raw.slice(from), shifted)
  }

  function until(text: string | RegExp, from: () => number): Promise<void> {
    return untilIt(text, () => {
      const shown = screen(from())
      return typeof text === 'string' ? shown.includes(text) : text.test(shown)
    })
  }

  async function untilIt(text: string | RegExp, isThere: () => boolean): Promise<void> {
    const deadline = Date.now() + patienceMs
    while (!isThere()) {
      if (over || Date.now() > deadline) {
        throw new Error(`${over ? 'it ended' : 'it took too long'}, and ${text} is not on:\n${screen()}`)
      }
      await Promise.race([wake.promise, new Promise(resolve => setTimeout(resolve, 1_000).unref())])
    }
  }

  return {
    get raw() {
      return raw
    },
    screen: () => screen(),
    type(keys) {
      mark = raw.length
      pty.write(keys)
    },
    see: text => until(text, () => 0),
    seeNext: text => until(text, () => mark),
    seePassing: text => untilIt(text, () => text.test(raw.slice(mark).replaceAll(moves, ' '))),
    resize(width, height) {
      widths.push({ from: raw.length, columns: width })
      pty.resize(width, height)
    },
    ended,
    kill: signal => pty.kill(signal),
    hangUp: () => (pty as IPty & { destroy(): void }).destroy(),
    [Symbol.dispose]() {
      if (!over) pty.kill('SIGKILL')
    },
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is sent
const piecesSent = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b.|[\r\n\b\x07]|[^\x1b\r\n\b\x07]+/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is sent
const moves = /(?:\x1b\[[0-?]*[ -/]*[@-~]|[\r\n])+/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is sent
const moving = /^\x1b\[(\d*)[\d;?]*([A-Za-z])$/

/** The width of the terminal from this character of the output on. */
interface Width {
  readonly from: number
  readonly columns: number
}

/** The screen as text, after line breaks, cursor movements and erasing, with the scrollback. Rows that are
 *  wider than the terminal are wrapped, and rewrapped when the width changes. */
export function rendered(sent: string, widths: readonly Width[]): string {
  const lines: string[] = ['']
  let [line, column] = [0, 0]
  let at = 0
  const width = () => widths.findLast(({ from }) => from <= at)!.columns
  const rowsOf = (text: string) => Math.max(1, Math.ceil(text.length / width()))
  const up = (rows: number) => {
    let left = rows
    for (; left > 0; left--) {
      if (column >= width()) column -= width()
      else if (line > 0) {
        line--
        column += (rowsOf(lines[line]!) - 1) * width()
      }
    }
  }
  const down = (rows: number) => {
    for (let left = rows; left > 0; left--) {
      if (Math.floor(column / width()) < rowsOf(lines[line] ?? '') - 1) column += width()
      else {
        line++
        column %= width()
      }
      while (lines.length <= line) lines.push('')
    }
  }
  for (const piece of sent.match(piecesSent) ?? []) {
    const [, count = '', verb = ''] = moving.exec(piece) ?? []
    const n = Number(count || 1)
    if (piece === '\r') column -= column % width()
    else if (piece === '\n') down(1)
    else if (piece === '\b') column = Math.max(0, column - 1)
    else if (verb === 'A') up(n)
    else if (verb === 'B') down(n)
    else if (verb === 'C') column += n
    else if (verb === 'D') column = Math.max(0, column - n)
    else if (verb === 'K' || verb === 'J') {
      lines[line] = lines[line]!.slice(0, column)
      if (verb === 'J') lines.length = line + 1
    } else if (!piece.startsWith('\x1b') && piece !== '\x07') {
      const text = lines[line]!
      lines[line] = text.padEnd(column).slice(0, column) + piece + text.slice(column + piece.length)
      column += piece.length
    }
    at += piece.length
  }
  return lines.join('\n')
}
