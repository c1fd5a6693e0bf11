import type { McpServer } from '../../../agent/mcp/open-mcp-tools.ts'
import type { Config } from '../../../config/config.ts'
import { shownPath } from '../../../config/read-config.ts'
import { findProgram } from '../../../system/find-program.ts'
import type { CommandContext } from '../../command-line/command-context.ts'
import { plural } from '../../output/number.ts'
import { mayStart, projectFileOf } from '../../trust/project-programs.ts'
import type { Check } from './check.ts'

/** How long a server may take until its tools are known. */
const startMs = 15_000

/** Starts each MCP server and ends it again. Servers at an address are reached only with `--online`. Their
 *  arguments, variables and headers are not printed: they may contain keys. */
export async function checkServers(
  config: Config,
  context: CommandContext,
  isOnline: boolean,
): Promise<readonly Check[]> {
  return Promise.all(
    Object.entries(config.mcp).map(async ([name, server]): Promise<Check> => {
      const path = `mcp.${name}`
      if (!mayStart(path, config, context)) return untrusted(path, config, context)
      if ('url' in server && !isOnline)
        return { name: 'mcp', status: 'ok', message: `${path} is set. To try it: skein doctor --online` }
      return tryServer(name, server, context)
    }),
  )
}

async function tryServer(name: string, server: McpServer, { signal }: CommandContext): Promise<Check> {
  const { openMcpTools } = await import('../../../agent/mcp/open-mcp-tools.ts')
  const opened = await openMcpTools({ [name]: server }, { startMs, signal })
  try {
    const [problem] = opened.problems
    if (problem) return { name: 'mcp', status: 'failed', message: problem.error.message }
    const count = Object.keys(opened.tools).length
    return { name: 'mcp', status: 'ok', message: `mcp.${name} starts and has ${plural(count, 'tool')}` }
  } finally {
    await opened.close()
  }
}

/** Whether the programs of the agents are installed. They are not started: most of them take seconds. */
export function checkAgents(config: Config, context: CommandContext): readonly Check[] {
  return Object.entries(config.agents).map(([name, agent]): Check => {
    const path = `agents.${name}`
    if (!('command' in agent)) return { name: 'agents', status: 'ok', message: `${path} is set` }
    if (!mayStart(path, config, context)) return untrusted(path, config, context)
    return findProgram(agent.command, context.env) === null
      ? { name: 'agents', status: 'failed', message: `${path}: there is no ${agent.command} in PATH` }
      : { name: 'agents', status: 'ok', message: `${path} is installed` }
  })
}

function untrusted(path: string, config: Config, context: CommandContext): Check {
  const file = shownPath(projectFileOf(path, config, context)!, context.cwd, context.env)
  return {
    name: path.startsWith('mcp.') ? 'mcp' : 'agents',
    status: 'note',
    message: `${path} is not started: you have not trusted ${file}. To trust it: skein config trust`,
  }
}
