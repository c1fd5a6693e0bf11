import type { OfferedModel } from '../../acp/serve/served.ts'
import { isNonEmpty, type NonEmpty } from '../../core/message.ts'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { type Given, hasOption, type Run, textOption } from '../command-line/command.ts'
import type { World } from '../command-line/command-context.ts'
import { exit } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { version } from '../command-line/version.ts'
import {
  chooseModel,
  demoNote,
  fullName,
  knownAliases,
  type ModelChoice,
  openNamed,
} from '../model/choose-model.ts'
import { toolsOf } from '../model/configured-tools.ts'
import { settingsOf } from '../model/model-setup.ts'
import { missingKey } from '../model/provider-keys.ts'
import { modelName } from '../output/model-name.ts'
import { noteLine } from '../output/print.ts'
import { shownTarget } from '../store/store-location.ts'

/** `skein acp`: our own agent, or the memory of another one, for an editor on the other end of stdin and stdout. */
export const acp: Run = async (given, world) => {
  const command = given.arguments
  if (isNonEmpty(command)) {
    for (const option of ['model', 'system'])
      if (hasOption(given, option))
        throw new UsageError(
          `--${option} is for our own agent`,
          'Another agent’s options stand behind its name',
        )
    return relay(command, given, world)
  }
  if (hasOption(given, 'name')) throw new UsageError('--name is for another agent', 'skein acp -- <command>')
  return serveOwn(given, world)
}

/** `skein acp -- <command>`: sits between an editor and an agent until the editor hangs up. stdout is the
 *  editor's, so that all that is said about it goes to stderr, which editors keep in a log. */
async function relay(
  [command, ...args]: readonly [string, ...string[]],
  given: Given,
  world: World,
): Promise<number> {
  const { err, signal, quiet, stdin } = world
  const [{ agentName }, { startProxy }] = await Promise.all([
    import('../../acp/host/agent-name.ts'),
    import('../../acp/proxy/proxy.ts'),
  ])
  const name = textOption(given, 'name') ?? agentName({ command, args })
  if (name.trim() === '') throw new UsageError('--name must not be empty')
  const say = (note: string) => {
    if (!quiet) err.line(noteLine(note, err))
  }
  const store = await world.store()
  say(`${name}: what is said is kept in ${shownTarget(world)}`)
  if (stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  const proxy = startProxy({
    store,
    command: { command, args, cwd: world.cwd },
    name,
    input: stdin,
    output: process.stdout,
    log: say,
    onComplaint: text => err.write(text),
  })
  signal.addEventListener('abort', () => proxy.close(), { once: true })
  const code = await proxy.done
  return (await waitUntilSaved(store, world)) ? code : exit.failure
}

/** Our own agent, until the editor has gone. Standard output is the protocol's, so that everything for people
 *  goes to stderr. */
async function serveOwn(given: Given, world: World): Promise<number> {
  const system = textOption(given, 'system')
  if (system?.trim() === '') throw new UsageError('--system must not be empty')
  const { serve } = await import('../../acp/serve/serve.ts')
  const { readConfig } = await import('../../config/read-config.ts')
  const config = await readConfig(world.cwd, world.env)
  const choice = chooseModel(given, world.env, config)
  const store = await world.store()
  const say = (note: string) => {
    if (!world.quiet) world.err.line(noteLine(note, world.err))
  }
  if (choice.from === 'nothing') say(demoNote)
  if (world.stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  using stop = stopOnInterrupt(world)
  const gone = new AbortController()
  const tools = toolsOf(config, { ...world, signal: AbortSignal.any([stop.signal, gone.signal]) })
  // Whoever speaks is told why there are none.
  tools.catch(() => undefined)
  try {
    await serve(
      {
        store,
        version: version(),
        models: offeredModels(choice, world.env),
        log: say,
        async speaking(model) {
          return {
            // Not before: an editor shows what is answered to a prompt, and of an agent that has ended only
            // that it has.
            model: await openNamed(model, world, choice.aliases).catch(inOneSentence),
            tools: (await tools).tools,
            ...settingsOf(config),
            ...(system === undefined ? {} : { system }),
          }
        },
      },
      { input: world.stdin, output: world.out.stream, signal: stop.signal },
    )
  } finally {
    gone.abort()
    await (await tools.catch(() => null))?.close()
  }
  return (await waitUntilSaved(store, world)) ? exit.ok : exit.failure
}

/** What to do stands beside a usage error, where a terminal looks for it and an editor does not. */
function inOneSentence(error: unknown): never {
  throw error instanceof UsageError ? new Error(`${error.message}. ${error.hint}`) : error
}

/** What an editor offers to choose from: the model that answers unless another is chosen, then those that have a name here and
 *  whose key is set. */
function offeredModels({ id, aliases }: ModelChoice, env: World['env']): NonEmpty<OfferedModel> {
  const named = [...Object.keys(aliases), ...Object.keys(knownAliases)].map(name => fullName(name, aliases))
  const others = new Set(named.filter(one => one !== id && missingKey(one, env) === null))
  return [offered(id), ...[...others].map(offered)]
}

function offered(id: string): OfferedModel {
  return { id, name: modelName(id) }
}
