import { type IPty, spawn } from '@lydell/node-pty'
import { commandLine, type Home } from './skein.ts'

/** A command in a real pseudo-terminal, as a person sees it. */
export interface Terminal {
  /** Everything that was sent so far, sequences included. */
  readonly raw: string
  /** What stands on the screen, and what has scrolled off above it, as text. */
  screen(): string
  /** Types. Enter is `\r`. */
  type(keys: string): void
  /** Waits until this is on the screen. Fails with the screen if the command ends first, or it takes too long. */
  see(text: string | RegExp): Promise<void>
  /** The same, counting only what comes after the last `type`. */
  seeNext(text: string | RegExp): Promise<void>
  resize(columns: number, rows: number): void
  /** The exit code. */
  readonly ended: Promise<number>
  kill(signal?: string): void
  [Symbol.dispose](): void
}

export interface TerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
}

/** How long a test waits for something to appear. Not a pace: it goes on as soon as it is there. */
const patienceMs = 20_000

export function terminal(
  here: Home,
  args: readonly string[],
  { columns = 80, rows = 30, env = {}, cwd = here.cwd }: TerminalOptions = {},
): Terminal {
  const [file, argv] = commandLine(args)
  const pty: IPty = spawn(file, [...argv], {
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
  const screen = (from = 0) => rendered(raw.slice(from))

  async function until(text: string | RegExp, from: () => number): Promise<void> {
    const deadline = Date.now() + patienceMs
    const isThere = () => {
      const shown = screen(from())
      return typeof text === 'string' ? shown.includes(text) : text.test(shown)
    }
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
    resize: (width, height) => pty.resize(width, height),
    ended,
    kill: signal => pty.kill(signal),
    [Symbol.dispose]() {
      if (!over) pty.kill('SIGKILL')
    },
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is sent
const piecesSent = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b.|[\r\n\b\x07]|[^\x1b\r\n\b\x07]+/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is sent
const moving = /^\x1b\[(\d*)[\d;?]*([A-Za-z])$/

/** What a terminal shows of this: text, line breaks, the cursor's way up, down, left and right, and erasing. The past
 *  is kept, and no row is broken: rows are as long as they were sent. */
export function rendered(sent: string): string {
  const rows: string[] = ['']
  let [row, column] = [0, 0]
  const pieces = sent.match(piecesSent) ?? []
  for (const piece of pieces) {
    const [, count = '', verb = ''] = moving.exec(piece) ?? []
    const n = Number(count || 1)
    if (piece === '\r') column = 0
    else if (piece === '\n') row++
    else if (piece === '\b') column = Math.max(0, column - 1)
    else if (verb === 'A') row = Math.max(0, row - n)
    else if (verb === 'B') row += n
    else if (verb === 'C') column += n
    else if (verb === 'D') column = Math.max(0, column - n)
    else if (verb === 'K') rows[row] = (rows[row] ?? '').slice(0, column)
    else if (verb === 'J') {
      rows[row] = (rows[row] ?? '').slice(0, column)
      rows.length = Math.min(rows.length, row + 1)
    } else if (!piece.startsWith('\x1b') && piece !== '\x07') {
      const line = rows[row] ?? ''
      rows[row] = line.padEnd(column).slice(0, column) + piece + line.slice(column + piece.length)
      column += piece.length
    }
    while (rows.length <= row) rows.push('')
  }
  return rows.join('\n')
}
