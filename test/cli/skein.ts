import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strangeEnvironment } from '../support/place.ts'
import { builtCommand } from './built-command.ts'

export interface Ended {
  readonly stdout: string
  readonly stderr: string
  /** The exit code, or 128 + the number of the signal, as in a shell. */
  readonly code: number
}

export interface Home {
  /** The working directory: an empty folder. */
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Runs the command as a process, without a terminal. */
  skein(args: readonly string[], options?: RunOptions): Promise<Ended>
  [Symbol.dispose](): void
}

export interface RunOptions {
  readonly input?: string
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

/** A home for the command: no files, no keys. */
export function home(): Home {
  const place = mkdtempSync(join(tmpdir(), 'skein-cli-'))
  const env = { ...strangeEnvironment(place, process.env), LANG: 'C.UTF-8' }
  const cwd = join(place, 'work')
  mkdirSync(cwd)
  return {
    cwd,
    env,
    skein: (args, options = {}) =>
      run(args, { ...options, cwd: options.cwd ?? cwd, env: { ...env, ...options.env } }),
    [Symbol.dispose]: () => rmSync(place, { recursive: true, force: true }),
  }
}

/** The command line that starts the command, also in a pseudo-terminal. */
export function commandLine(args: readonly string[]): readonly [file: string, args: readonly string[]] {
  return [process.execPath, [builtCommand(), ...args]]
}

function run(args: readonly string[], { input = '', cwd, env }: RunOptions): Promise<Ended> {
  const [file, argv] = commandLine(args)
  const child = spawn(file, argv, { ...(cwd ? { cwd } : {}), ...(env ? { env } : {}), stdio: 'pipe' })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
  })
  child.stdin.on('error', () => undefined) // It may exit before it has read everything.
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) =>
      resolve({ stdout, stderr, code: code ?? (signal === 'SIGINT' ? 130 : 143) }),
    )
  })
}
