import type { BotFinding } from '../../channels/discord/check-bot.ts'
import type { BotFacts, ConnectedBot } from '../../channels/discord/client.ts'
import type { ModelChooser } from '../../channels/discord/commands.ts'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/read-config.ts'
import { errorText } from '../../core/error-text.ts'
import { MisconfiguredError } from '../../core/errors.ts'
import { withoutSecrets } from '../../system/secrets.ts'
import { type Args, type CommandHandler, hasOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { untilSignal } from '../command-line/until-signal.ts'
import { chooseModel, demoNote, openNamedModel } from '../model/choose-model.ts'
import { plural } from '../output/number.ts'
import { noteLine, printJson, printNote } from '../output/print.ts'
import { shownLocation } from '../store/store-location.ts'
import { createChannelAgents } from './channel-agents.ts'

/** `skein discord`: answers people in Discord until a signal ends it. With `--check`, reports what is
 *  missing. */
export const discordCommand: CommandHandler = async (args, context) => {
  const config = await readConfig(context.cwd, context.env)
  const { token } = config.discord
  // Loaded first: without the package, nothing else helps.
  const { connectDiscord, loadDiscord } = await import('../../channels/discord/client.ts')
  await loadDiscord()
  if (token === null) throw noToken()
  const api = context.env.SKEIN_DISCORD_API?.trim() || undefined
  if (hasOption(args, 'check')) return check(token, api, context)
  const store = await context.store()
  const stop = untilSignal()
  const { createDiscordChannel } = await import('../../channels/discord/channel.ts')
  const agents = createChannelAgents(args, context, config, store)
  const problem = (what: string, error: unknown) =>
    note(context, `${what}: ${withoutSecrets(errorText(error), [token])}`)
  const open = async ({ owners, isPublic }: BotFacts) =>
    createDiscordChannel({
      store,
      openAgent: id => agents.open(id, isPublic),
      settings: config.discord,
      owners,
      models: modelsOf(args, context, config),
      secrets: [token],
      onProblem: problem,
    })
  const bot = await connectDiscord({
    token,
    open,
    onNote: text => note(context, text),
    ...(api !== undefined && { api }),
  })
  let isSaved = true
  try {
    await announce(args, context, config, bot)
    await Promise.race([stop, bot.failed])
  } finally {
    isSaved = await bot.close()
    await agents.close()
  }
  if (!isSaved) note(context, 'some messages could not be stored, because the store does not answer')
  return isSaved ? exitCode.ok : exitCode.failure
}

function noToken(): MisconfiguredError {
  return new MisconfiguredError('login', 'there is no Discord token', {
    hint: 'Set DISCORD_TOKEN. docs/discord.md says how to get one',
  })
}

/** Everyone may choose a name of the configuration; the owner may choose any model. */
function modelsOf(args: Args, context: CommandContext, config: Config): ModelChooser {
  return {
    standard: chooseModel(args, context.env, config).id,
    names: Object.keys(config.models),
    choose: async name => (await openNamedModel(name, context, config)).id,
  }
}

function note({ err, quiet, json }: CommandContext, text: string): void {
  if (!quiet && !json) err.line(noteLine(text, err))
}

async function announce(
  args: Args,
  context: CommandContext,
  config: Config,
  { name, servers }: ConnectedBot,
): Promise<void> {
  const { out, env, json, quiet } = context
  const { id, from } = chooseModel(args, env, config)
  const store = shownLocation(context)
  if (json) printJson(context, { bot: name, servers, store, model: id })
  else if (!quiet) {
    const dot = ` ${out.style.symbols.dot} `
    out.line(out.style.safe([`${name} answers in Discord`, plural(servers, 'server'), store, id].join(dot)))
    if (from === 'nothing') printNote(context, demoNote)
  }
  await out.drained()
}

async function check(token: string, api: string | undefined, context: CommandContext): Promise<number> {
  const { checkBot } = await import('../../channels/discord/check-bot.ts')
  const findings = await checkBot(token, api)
  const failed = findings.filter(({ status }) => status === 'failed').length
  if (context.json) printJson(context, { checks: findings, problems: failed })
  else for (const finding of findings) printFinding(finding, context)
  return failed > 0 ? exitCode.failure : exitCode.ok
}

function printFinding({ name, status, message }: BotFinding, { out, quiet }: CommandContext): void {
  if (quiet && status === 'ok' && name !== 'invitation') return
  const { style } = out
  out.line(`${style[status](style.symbols[status])} ${name.padEnd(11)} ${style.safe(message)}`)
}
