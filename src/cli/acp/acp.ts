import type { ProxyStore } from '../../acp/proxy/proxy-context.ts'
import type { OfferedModel } from '../../acp/serve/serve-options.ts'
import { fullModelName, knownAliases } from '../../api/full-model-name.ts'
import type { Config } from '../../config/config.ts'
import { sha256Hex } from '../../core/hash.ts'
import type { NonEmpty } from '../../core/message.ts'
import { modelName } from '../../core/model-name.ts'
import { preferSmallHeap } from '../../system/small-heap.ts'
import { version } from '../../system/version.ts'
import { type NamedOwnAgent, openOwnTools } from '../agent/own-agent-tools.ts'
import { type StartedAgent, startedAgent } from '../agent/started-agent.ts'
import { waitUntilSaved } from '../answer/wait-until-saved.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { stopOnInterrupt } from '../command-line/stop-on-interrupt.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { chooseModel, demoNote, type ModelChoice, openNamedModel } from '../model/choose-model.ts'
import { configuredTools } from '../model/configured-tools.ts'
import { handOverOptions } from '../model/hand-over.ts'
import { agentSettings } from '../model/model-setup.ts'
import { missingKey } from '../model/provider-keys.ts'
import { noteLine } from '../output/print.ts'
import { smallCache } from '../store/open-configured-store.ts'
import { shownLocation } from '../store/store-location.ts'
import { lateStore } from './late-store.ts'
import type { ThreadedStore } from './threaded-store.ts'

/** `skein acp`: serves an editor on stdin and stdout, with our own agent or as a proxy that gives another
 *  agent a memory. */
export const acpCommand: CommandHandler = async (args, context) => {
  // An editor keeps one of these processes for each agent.
  preferSmallHeap()
  if (args.arguments.length === 0 && args.behind === undefined) {
    refuseOptions(
      args,
      ['name', 'tell'],
      'is for another agent',
      'skein acp <name>, or skein acp -- <command>',
    )
    return serveOwn(args, context, null)
  }
  // stdin belongs to the editor, also on a terminal.
  const started = await startedAgent(args, { ...context, canAsk: false })
  if ('own' in started) {
    refuseOptions(args, ['name', 'tell'], 'is for another agent', 'skein acp -- <command>')
    return serveOwn(args, context, started.own)
  }
  refuseOptions(
    args,
    ['model', 'system'],
    'is for our own agent',
    'Put another agent’s options after its name',
  )
  return relay(started, args, context)
}

function refuseOptions(args: Args, names: readonly string[], why: string, hint: string): void {
  for (const name of names) if (hasOption(args, name)) throw new UsageError(`--${name} ${why}`, hint)
}

/** `skein acp -- <command>`: a proxy between an editor and an agent, until the editor closes the connection.
 *  stdout belongs to the protocol, so notes go to stderr, which editors keep in a log. */
async function relay(
  { command, name }: Exclude<StartedAgent, { own: unknown }>,
  args: Args,
  context: CommandContext,
): Promise<number> {
  const { err, signal, quiet, stdin } = context
  const { startProxy } = await import('../../acp/proxy/proxy.ts')
  const handOver = await handOverOptions(args, context)
  const say = (note: string) => {
    if (!quiet) err.line(noteLine(note, err))
  }
  // The agent works without the store: an editor would have no agent at all otherwise.
  let refusal: { readonly error: unknown } | null = null
  const opener = storeOpener(context)
  const store = lateStore(opener.open, error => {
    refusal = { error }
    proxy.close()
  })
  say(`${name}: conversations are stored in ${shownLocation(context)}`)
  if (stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  const proxy = startProxy({
    store,
    command: { ...command, cwd: command.cwd ?? context.cwd },
    name,
    storeId: storeIdOf(context),
    ...handOver,
    input: stdin,
    output: process.stdout,
    log: say,
    onStderr: text => err.write(text),
  })
  signal.addEventListener('abort', () => proxy.close(), { once: true })
  try {
    const code = await proxy.done
    if (refusal) throw (refusal as { readonly error: unknown }).error
    return (await waitUntilSaved(store, context)) ? code : exitCode.failure
  } finally {
    await opener.close()
  }
}

interface StoreOpener {
  open(): Promise<ProxyStore>
  /** Closes what `open` has opened, if the command does not. */
  close(): Promise<void>
}

/** A file is opened in a thread of its own: a commit waits for the disk, and must not delay what the agent
 *  says. A server does that work itself, and a store in memory does not wait. */
function storeOpener(context: CommandContext): StoreOpener {
  const { target, isFile } = context.location()
  if (!isFile || !mayStartThreads()) return { open: () => context.store(), close: async () => undefined }
  let opening: Promise<ThreadedStore> | undefined
  let isOpen = false
  return {
    open() {
      opening = import('./threaded-store.ts').then(({ openThreadedStore }) =>
        openThreadedStore({ target, cwd: context.cwd, memory: smallCache({ isFile }) }),
      )
      opening.then(
        () => {
          isOpen = true
        },
        () => undefined,
      )
      return opening
    },
    async close() {
      // Another process may have locked the file for longer.
      if (!isOpen && context.signal.aborted) return
      const opened = await opening?.catch(() => undefined)
      await opened?.close()
    },
  }
}

/** False under Node's permission model without `--allow-worker`. */
function mayStartThreads(): boolean {
  return process.permission?.has('worker') ?? true
}

/** Serves our own agent until the editor closes the connection. stdout belongs to the protocol, so notes go
 *  to stderr. */
async function serveOwn(args: Args, context: CommandContext, own: NamedOwnAgent | null): Promise<number> {
  const system = textOption(args, 'system') ?? own?.settings.system ?? undefined
  if (system?.trim() === '') throw new UsageError('--system must not be empty')
  const { serve } = await import('../../acp/serve/serve.ts')
  const { readConfig } = await import('../../config/read-config.ts')
  const config = await readConfig(context.cwd, context.env)
  const named = own === null || hasOption(args, 'model') ? args : withModel(args, own.settings.model)
  const choice = chooseModel(named, context.env, config)
  const store = await context.store(smallCache(context.location()))
  const say = (note: string) => {
    if (!context.quiet) context.err.line(noteLine(note, context.err))
  }
  if (choice.from === 'nothing') say(demoNote)
  if (context.stdin.isTTY) say('an editor starts this and talks with it: see docs/acp.md. Ctrl+D ends it')
  using stop = stopOnInterrupt(context)
  const gone = new AbortController()
  const stopping = { ...context, signal: AbortSignal.any([stop.signal, gone.signal]) }
  const tools = own === null ? configuredTools(config, stopping) : openOwnTools(own, config, stopping)
  // A failure is reported to the first prompt that needs the tools.
  tools.catch(() => undefined)
  try {
    await serve(
      {
        store,
        version: version(),
        storeId: storeIdOf(context),
        models: offeredModels(choice, context.env, config),
        log: say,
        async agentParts(model) {
          // Opened per prompt: an editor shows the error of a prompt, but not why an agent has exited.
          const opened = await openNamedModel(model, context, config).catch(inOneSentence)
          return {
            model: opened,
            tools: await (await tools).on(store, opened),
            ...agentSettings(config, model),
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

function withModel(args: Args, model: string): Args {
  return { ...args, options: { ...args.options, model } }
}

/** Identifies a store without naming it: agents of other programs get the answer, too. */
function storeIdOf({ location }: CommandContext): string {
  return sha256Hex(location().target).slice(0, 16)
}

/** An editor shows only the message of an error, so the hint of a UsageError is appended to it. */
function inOneSentence(error: unknown): never {
  throw error instanceof UsageError ? new Error(`${error.message}. ${error.hint}`) : error
}

/** The models an editor may choose from: the default first, then every model with a short name whose key is
 *  set. */
function offeredModels(
  { id, aliases }: ModelChoice,
  env: CommandContext['env'],
  config: Config,
): NonEmpty<OfferedModel> {
  const named = [...Object.keys(aliases), ...Object.keys(knownAliases)].map(name =>
    fullModelName(name, aliases),
  )
  const others = new Set(named.filter(one => one !== id && missingKey(one, env, config) === null))
  return [offered(id), ...[...others].map(offered)]
}

function offered(id: string): OfferedModel {
  return { id, name: modelName(id) }
}
