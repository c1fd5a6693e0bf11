import { leastTellTokens } from '../../acp/memory/history-text.ts'
import type { HandOverOptions, HandOverSummaries } from '../../acp/seat/hand-over.ts'
import type { RecallCommand } from '../../acp/seat/recall-server.ts'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/read-config.ts'
import { type Args, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { askedVariable } from './asked-variable.ts'
import { chooseModel, openNamedModel } from './choose-model.ts'

/** How much of a conversation another program's agent is told: `--tell`, else the configuration. */
export async function handOverOptions(
  args: Args,
  context: CommandContext,
): Promise<Pick<HandOverOptions, 'summaries' | 'recall'> & { readonly tell: number }> {
  const config = await readConfig(context.cwd, context.env)
  const tell = tellOf(args) ?? config.acp.tell
  const recall = config.acp.recall ? recallCommand(context) : null
  return {
    tell,
    ...(config.acp.summarize && { summaries: { model: summarizerOf(config, context) } }),
    ...(recall && { recall }),
  }
}

/** The command of `skein mcp` on this store, by the program that runs now. The address of a store that is
 *  not a file may contain a password: it is a variable. Null in a task of `ask`, because its agent gets no
 *  tools of ours. */
function recallCommand({ location, env }: CommandContext): RecallCommand | null {
  const { target, isFile } = location()
  const entry = process.argv[1]
  if (entry === undefined || env[askedVariable]) return null
  const command = process.execPath
  if (isFile) return { command, args: [entry, 'mcp', '--db', target] }
  // A store in memory belongs to this process.
  return target === ':memory:' ? null : { command, args: [entry, 'mcp'], env: { SKEIN_DB: target } }
}

function tellOf(args: Args): number | null {
  const text = textOption(args, 'tell')
  if (text === undefined) return null
  const tell = /^\d+$/.test(text) ? Number(text) : 0
  if (tell >= leastTellTokens) return tell
  throw new UsageError(`--tell needs a number of tokens from ${leastTellTokens}`, '--tell 24000')
}

/** The model that summarizes; null if none is configured and no key is set. It is opened with its first
 *  call. */
function summarizerOf(config: Config, context: CommandContext): HandOverSummaries['model'] {
  const { id, from } = chooseModel({ arguments: [], options: {} }, context.env, config)
  if (from === 'nothing') return null
  return {
    id,
    async *stream(request) {
      yield* (await openNamedModel(id, context, config)).stream(request)
    },
  }
}
