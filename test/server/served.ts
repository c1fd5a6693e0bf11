import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { commandLine, type Home } from '../cli/skein.ts'

/** A process of `skein serve`. Disposing of it ends it with SIGTERM. */
export interface ServedProcess extends AsyncDisposable {
  readonly url: string
  readonly token: string
  /** Ends it at once. */
  kill(): Promise<void>
  /** Whether it runs. */
  isUp(): boolean
}

/** Starts `skein serve` on a free port. */
export async function startServed({ cwd, env }: Home, args: readonly string[] = []): Promise<ServedProcess> {
  const [file, argv] = commandLine(['serve', '--port', '0', '--json', ...args])
  const child = spawn(file, argv, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), ended])
  if (typeof line[0] !== 'string') throw new Error('skein serve has ended')
  const { url, token_file } = JSON.parse(line[0]) as { url: string; token_file: string }
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    child.kill(signal)
    await ended
  }
  return {
    url,
    token: readFileSync(token_file, 'utf8').trim(),
    kill: () => end('SIGKILL'),
    isUp: () => child.exitCode === null && child.signalCode === null,
    [Symbol.asyncDispose]: () => end('SIGTERM'),
  }
}
