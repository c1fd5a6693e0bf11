import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { variables } from '../../acp/agents/environment.ts'
import { type AgentName, agentCommand } from '../../acp/agents/harness.ts'
import { startModel, type TestModel } from '../../acp/agents/model-server.ts'
import { processesOf, runVariable } from '../../acp/agents/processes.ts'
import { type Ended, type Home, home, type RunOptions } from '../skein.ts'
import { type Terminal, type TerminalOptions, terminal } from '../terminal.ts'

/** A home with test agents, and the command. */
export interface AgentHome {
  readonly here: Home
  readonly model: TestModel
  /** `skein agent <flags> -- <agent>` without a terminal. */
  piped(flags: readonly string[], agent: readonly string[] | AgentName, options?: RunOptions): Promise<Ended>
  /** `skein agent <words>` without a terminal. */
  named(words: readonly string[], options?: RunOptions): Promise<Ended>
  onTerminal(
    flags: readonly string[],
    agent: readonly string[] | AgentName,
    options?: TerminalOptions,
  ): Terminal
  /** The ids of all processes that were started and are alive, including agents. */
  processes(): readonly number[]
  [Symbol.asyncDispose](): Promise<void>
}

export async function agentHome(): Promise<AgentHome> {
  const here = home()
  const model = await startModel()
  const run = randomUUID()
  const env = {
    [variables.model]: model.url,
    [variables.state]: join(here.cwd, '../agents'),
    [runVariable]: run,
    NODE_COMPILE_CACHE: join(tmpdir(), 'skein-acp-compiled'),
  }
  const line = (flags: readonly string[], agent: readonly string[] | AgentName) => [
    'agent',
    ...flags,
    '--',
    ...(typeof agent === 'string' ? agentCommand(agent) : agent),
  ]
  return {
    here,
    model,
    piped: (flags, agent, options = {}) =>
      here.skein(line(flags, agent), { ...options, env: { ...env, ...options.env } }),
    named: (words, options = {}) =>
      here.skein(['agent', ...words], { ...options, env: { ...env, ...options.env } }),
    onTerminal: (flags, agent, options = {}) =>
      terminal(here, line(flags, agent), { columns: 120, ...options, env: { ...env, ...options.env } }),
    processes: () => processesOf(run),
    async [Symbol.asyncDispose]() {
      await model.close()
      here[Symbol.dispose]()
    },
  }
}

/** A call that needs the user's permission. */
export const asks = {
  type: 'tool',
  name: 'write_file',
  title: 'Write a.txt',
  input: {},
  output: 'done',
  asks: true,
} as const
