import type { OfferedModel } from '../../acp/serve/served.ts'
import { isNonEmpty, type NonEmpty } from '../../core/message.ts'
import { version } from '../../system/version.ts'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import {
  chooseModel,
  demoNote,
  fullModelName,
  knownAliases,
  type ModelChoice,
  openNamedModel,
} from '../model/choose-model.ts'
import { configuredTools } from '../model/configured-tools.ts'
import { agentSettings } from '../model/model-setup.ts'
import { missingKey } from '../model/provider-keys.ts'
import { modelName } from '../output/model-name.ts'
import { noteLine } from '../output/print.ts'
import { shownLocation } from '../store/store-location.ts'

/** `skein acp`: our own agent, or the memory of another one, for an editor on the other end of stdin and stdout. */
export const acpCommand: CommandHandler = async (args, context) => {
  const command = args.arguments
  if (isNonEmpty(command)) {
    for (const option of ['model', 'system'])
      if (hasOption(args, option))
        throw new UsageError(
          `--${option} is for our own agent`,
          'Another agent’s options stand behind its name',
        )
    return relay(command, args, context)
  }
  if (hasOption(args, 'name')) throw new UsageError('--name is for another agent', 'skein acp -- <command>')
  return serveOwn(args, context)
}

/** `skein acp -- <command>`: sits between an editor and an agent until the editor hangs up. stdout is the
 *  editor's, so that all that is said about it goes to stderr, which editors keep in a log. */
async function relay(
  [command, ...rest]: readonly [string, ...string[]],
  args: Args,
  context: CommandContext,
): Promise<number> {
  const { err, signal, quiet, stdin } = context
  const [{ agentName }, { startProxy }] = await Promise.all([
    import('../../acp/host/agent-name.ts'),
    import('../../acp/proxy/proxy.ts'),
  ])
  const name = textOption(args, 'name') ?? agentName({ command, args: rest })
  if (name.trim() === '') throw new UsageError('--name must not be empty')
  const say = (note: string) => {
    if (!quiet) err.line(noteLine(note, err))
  }
  const store = await context.store()
  say(`${name}: what is said is kept in ${shownLocation(context)}`)
  if (stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  const proxy = startProxy({
    store,
    command: { command, args: rest, cwd: context.cwd },
    name,
    input: stdin,
    output: process.stdout,
    log: say,
    onComplaint: text => err.write(text),
  })
  signal.addEventListener('abort', () => proxy.close(), { once: true })
  const code = await proxy.done
  return (await waitUntilSaved(store, context)) ? code : exitCode.failure
}

/** Our own agent, until the editor has gone. Standard output is the protocol's, so that everything for people goes to stderr. */
async function serveOwn(args: Args, context: CommandContext): Promise<number> {
  const system = textOption(args, 'system')
  if (system?.trim() === '') throw new UsageError('--system must not be empty')
  const { serve } = await import('../../acp/serve/serve.ts')
  const { readConfig } = await import('../../config/read-config.ts')
  const config = await readConfig(context.cwd, context.env)
  const choice = chooseModel(args, context.env, config)
  const store = await context.store()
  const say = (note: string) => {
    if (!context.quiet) context.err.line(noteLine(note, context.err))
  }
  if (choice.from === 'nothing') say(demoNote)
  if (context.stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  using stop = stopOnInterrupt(context)
  const gone = new AbortController()
  const tools = configuredTools(config, { ...context, signal: AbortSignal.any([stop.signal, gone.signal]) })
  // Whoever speaks is told why there are none.
  tools.catch(() => undefined)
  try {
    await serve(
      {
        store,
        version: version(),
        models: offeredModels(choice, context.env),
        log: say,
        async speaking(model) {
          return {
            // Not before: an editor shows what is answered to a prompt, and of an agent that has ended only that it has.
            model: await openNamedModel(model, context, choice.aliases).catch(inOneSentence),
            tools: (await tools).tools,
            ...agentSettings(config),
            ...(system === undefined ? {} : { system }),
          }
        },
      },
      { input: context.stdin, output: context.out.stream, signal: stop.signal },
    )
  } finally {
    gone.abort()
    await (await tools.catch(() => null))?.close()
  }
  return (await waitUntilSaved(store, context)) ? exitCode.ok : exitCode.failure
}

/** What to do stands beside a usage error, where a terminal looks for it and an editor does not. */
function inOneSentence(error: unknown): never {
  throw error instanceof UsageError ? new Error(`${error.message}. ${error.hint}`) : error
}

/** What an editor offers to choose from: the model that answers unless another is chosen, then those that have a name here and
 *  whose key is set. */
function offeredModels({ id, aliases }: ModelChoice, env: CommandContext['env']): NonEmpty<OfferedModel> {
  const named = [...Object.keys(aliases), ...Object.keys(knownAliases)].map(name =>
    fullModelName(name, aliases),
  )
  const others = new Set(named.filter(one => one !== id && missingKey(one, env) === null))
  return [offered(id), ...[...others].map(offered)]
}

function offered(id: string): OfferedModel {
  return { id, name: modelName(id) }
}
