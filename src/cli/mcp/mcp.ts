import { readConfig } from '../../config/read-config.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { askedVariable } from '../model/asked-variable.ts'
import { noteLine } from '../output/print.ts'
import { ownKey } from '../target/own-key.ts'
import { hasOwnStore, projectDirectories, projectFolder } from '../target/scope.ts'
import { openAskedAgent } from './asked-agent.ts'
import { createLazyStores } from './lazy-stores.ts'

/** `skein mcp`: serves an agent on stdin and stdout until its input ends. stdout belongs to the protocol, so
 *  notes go to stderr. */
export const mcpCommand: CommandHandler = async (args, context) => {
  checkOptions(args)
  const { cwd, env, err, quiet, stdin } = context
  const say = (note: string) => {
    if (!quiet) err.line(noteLine(note, err))
  }
  const name = textOption(args, 'agent')
  await using stores = createLazyStores(context)
  await using asked =
    name === undefined
      ? null
      : openAskedAgent(name, await readConfig(cwd, env), context, () => stores.open('write'))
  const { createMcpEndpoint } = await import('../../mcp/endpoint.ts')
  const isInTask = Boolean(env[askedVariable])
  if (isInTask) say('an agent that does a task of skein mcp gets none of its tools')
  if (stdin.isTTY) say('an agent starts this and talks with it: see docs/mcp.md. Ctrl+D ends it')
  const endpoint = createMcpEndpoint({
    store: stores.open,
    scope: {
      all: hasOption(args, 'all'),
      channel: textOption(args, 'channel') ?? null,
      conversation: textOption(args, 'conversation') ?? null,
      directories: async () =>
        hasOwnStore(context) ? null : projectDirectories(await stores.open('read'), context),
    },
    notes: hasOption(args, 'allow-write')
      ? {
          key: ownKey('notes', context),
          links: { directory: projectFolder(cwd, env), channel: 'mcp' },
        }
      : null,
    agent: asked?.agent ?? null,
    onError: error => say(isSchemaError(error) ? 'ignored a line that is not JSON-RPC 2.0' : error.message),
  })
  using stop = stopOnInterrupt(context)
  await endpoint.stdio({
    input: stdin,
    output: process.stdout,
    signal: stop.signal,
    ...(isInTask && { scopes: [] }),
  })
  await endpoint.close()
  await asked?.close()
  return (await stores.saved()) ? exitCode.ok : exitCode.failure
}

/** The message of such an error is a page of JSON. */
function isSchemaError({ name }: Error): boolean {
  return name.endsWith('ZodError')
}

function checkOptions(args: Args): void {
  const isNarrow = hasOption(args, 'conversation')
  for (const option of ['all', 'channel', 'allow-write', 'agent'] as const)
    if (isNarrow && hasOption(args, option))
      throw new UsageError(`--conversation and --${option} contradict each other`, 'Drop one')
  for (const option of ['channel', 'conversation', 'agent'] as const)
    if (textOption(args, option)?.trim() === '') throw new UsageError(`--${option} must not be empty`)
}
