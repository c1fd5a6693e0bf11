import { leastTellTokens } from '../../acp/memory/history-text.ts'
import type { HandOverSummaries } from '../../acp/seat/hand-over.ts'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/read-config.ts'
import { type Args, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { chooseModel, openNamedModel } from './choose-model.ts'

/** How much of a conversation another program's agent is told: `--tell`, else the configuration. */
export async function handOverOptions(
  args: Args,
  context: CommandContext,
): Promise<{ readonly tell: number; readonly summaries?: HandOverSummaries }> {
  const config = await readConfig(context.cwd, context.env)
  const tell = tellOf(args) ?? config.acp.tell
  return config.acp.summarize ? { tell, summaries: { model: summarizerOf(config, context) } } : { tell }
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
