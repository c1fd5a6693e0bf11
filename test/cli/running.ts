import { spawn } from 'node:child_process'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { commandLine, type Ended, type Home } from './skein.ts'

/** The user's store. */
export function dataFile(here: Home): string {
  return `${here.env.XDG_DATA_HOME}/skein/conversations.db`
}

/** The store of the command, to inspect it or to add data. */
export function storeOf(here: Home): Promise<Store> {
  return openStore(dataFile(here))
}

/** A running command. */
export interface Running {
  /** Resolves when stdout contains the text. */
  says(text: string): Promise<void>
  /** Resolves when stderr contains the text. */
  complains(text: string): Promise<void>
  /** What stdout contains so far. */
  printed(): string
  /** What stderr contains so far. */
  complaints(): string
  kill(signal: NodeJS.Signals): void
  /** Closes the reading end of stdout: the pipe is broken. */
  closeOutput(): void
  readonly ended: Promise<Ended>
}

export function start(
  here: Home,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): Running {
  const [file, argv] = commandLine(args)
  const child = spawn(file, argv, {
    cwd: here.cwd,
    env: { ...here.env, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  const watchers = new Set<() => void>()
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
    for (const watch of watchers) watch()
  })
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
    for (const watch of watchers) watch()
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) =>
      resolve({
        stdout,
        stderr,
        code: code ?? (signal === 'SIGINT' ? 130 : signal === 'SIGKILL' ? 137 : 143),
      }),
    )
  })
  return {
    ended,
    printed: () => stdout,
    complaints: () => stderr,
    kill: signal => void child.kill(signal),
    closeOutput: () => void child.stdout!.destroy(),
    says: text => until(() => stdout, text),
    complains: text => until(() => stderr, text),
  }

  function until(printed: () => string, text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch = () => {
        if (!printed().includes(text)) return
        watchers.delete(watch)
        resolve()
      }
      watchers.add(watch)
      watch()
      void ended.then(() => reject(new Error(`it ended before it said ${JSON.stringify(text)}: ${stderr}`)))
    })
  }
}
