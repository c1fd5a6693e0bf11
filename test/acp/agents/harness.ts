import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandLine } from '../../cli/skein.ts'
import { strangeEnvironment } from '../../support/place.ts'
import { type AcpClient, type ClientOptions, startClient } from './client.ts'
import { variables } from './environment.ts'
import { startModel, type TestModel } from './model-server.ts'

/** The agents of this folder. */
export type AgentName =
  | 'forgetful'
  | 'liar'
  | 'empty-load'
  | 'early-load'
  | 'dies'
  | 'repeats'
  | 'joins'
  | 'notices'
  | 'unknown-codes'
  | 'strange'
  | 'good'
  | 'adjustable'

/** The command that starts one of them. */
export function agentCommand(name: AgentName, ...flags: readonly string[]): readonly string[] {
  return [process.execPath, join(import.meta.dirname, `${name}.ts`), ...flags]
}

/** The same behind our proxy: `skein acp [flags] -- <command>`. */
export function behindProxy(command: readonly string[], ...flags: readonly string[]): readonly string[] {
  const [file, args] = commandLine(['acp', ...flags, '--', ...command])
  return [file, ...args]
}

/** A machine of its own: a home, a working directory, a model, and a folder for the files of agents. */
export interface Stage {
  readonly model: TestModel
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** The folder for the files of agents. */
  readonly state: string
  /** Starts an editor with a command. All processes that are still running at the end are killed. */
  start(command: readonly string[], options?: Partial<ClientOptions>): Promise<AcpClient>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openStage(): Promise<Stage> {
  const place = mkdtempSync(join(tmpdir(), 'skein-acp-'))
  const model = await startModel()
  const [cwd, state] = [join(place, 'work'), join(place, 'state')]
  mkdirSync(cwd)
  const env = {
    ...strangeEnvironment(place, process.env),
    LANG: 'C.UTF-8',
    // Halves the time of each of the many starts.
    NODE_COMPILE_CACHE: join(tmpdir(), 'skein-acp-compiled'),
    [variables.model]: model.url,
    [variables.state]: state,
  }
  const clients: AcpClient[] = []
  return {
    model,
    cwd,
    env,
    state,
    async start(command, options = {}) {
      const client = await startClient(command, { cwd, ...options, env: { ...env, ...options.env } })
      clients.push(client)
      return client
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map(client => client.kill9()))
      await model.close()
      rmSync(place, { recursive: true, force: true })
    },
  }
}
