import { spawn } from '@lydell/node-pty'
import { type Span, screenOf, textOfScreen } from './screen.ts'

export const columns = 80
export const rows = 24

/** A shell in a real pseudo-terminal. */
export interface Shell {
  /** Types, and waits until the pattern is on the screen below the previous text. Throws with the screen
   *  after a timeout. */
  type(keys: string, until: RegExp): Promise<void>
  screen(): readonly (readonly Span[])[]
  text(): string
  close(): Promise<void>
}

/** A timeout, not a pace: it continues as soon as the text appears. */
const patienceMs = 30_000

/** Opens a terminal with a plain bash. */
export async function openShell(cwd: string, env: NodeJS.ProcessEnv): Promise<Shell> {
  const pty = spawn('bash', ['--norc', '--noprofile', '--noediting'], {
    name: 'xterm-256color',
    cols: columns,
    rows,
    cwd,
    env: { ...env, PS1: '$ ', TERM: 'xterm-256color' } as Record<string, string>,
  })
  let sent = ''
  let wake = Promise.withResolvers<void>()
  pty.onData(data => {
    sent += data
    wake.resolve()
    wake = Promise.withResolvers()
  })
  const ended = new Promise<void>(resolve => pty.onExit(() => resolve()))
  const text = () => textOfScreen(screenOf(sent, columns, rows))

  async function see(until: RegExp, from: number): Promise<void> {
    const deadline = Date.now() + patienceMs
    const isThere = () => until.test(textOfScreen(screenOf(sent.slice(from), columns, rows)))
    while (!isThere()) {
      if (Date.now() > deadline) throw new Error(`${until} is not on the screen:\n${text()}`)
      await Promise.race([wake.promise, new Promise(resolve => setTimeout(resolve, 500).unref())])
    }
  }

  await see(/^\$$/m, 0)
  return {
    async type(keys, until) {
      const from = sent.length
      pty.write(keys)
      await see(until, from)
    },
    screen: () => screenOf(sent, columns, rows),
    text,
    async close() {
      pty.kill('SIGHUP')
      await ended
    },
  }
}
