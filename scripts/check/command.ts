import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'

/** The root of the repository. */
export const root = join(import.meta.dirname, '../..')

/** A command that did not exit with 0; `message` ends with the last lines of its output. */
export class CommandError extends Error {}

/** Where and how a command runs. */
export interface CommandOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
  /** `shown` passes the command's output through; `kept`, the default, keeps it for the message of a failure.
   */
  readonly output?: 'kept' | 'shown'
  /** Timeout. Default: 20 minutes. */
  readonly limitMs?: number
}

const running = new Set<() => void>()

/** Ends running commands, so that an interrupted gate leaves none behind. */
export function endCommands(): void {
  for (const end of running) end()
}

/** Runs a command of the system or of `node_modules/.bin` and returns its output. Throws CommandError. */
export function run(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { cwd = root, env = process.env, output = 'kept', limitMs = 20 * 60_000 } = options
  const path = `${join(root, 'node_modules/.bin')}${delimiter}${env.PATH ?? ''}`
  const child = spawn(command, args, {
    cwd,
    env: { ...env, PATH: path },
    stdio: output === 'shown' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
  })
  const end = () => void child.kill()
  running.add(end)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      running.delete(end)
      if (code === 0) resolve(said)
      else
        reject(
          new CommandError(`${[command, ...args].join(' ')}: exit ${code ?? signal}\n${lastLines(said)}`),
        )
    })
  })
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-60).join('\n')
}
