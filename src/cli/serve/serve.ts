import { isIP } from 'node:net'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/read-config.ts'
import { type ListenAddress, type LogLevel, listenAddress, logLevels } from '../../config/server-settings.ts'
import { MissingKeyError, UnavailableError } from '../../core/errors.ts'
import type { Listening } from '../../server/listen.ts'
import type { Service } from '../../server/service.ts'
import { type Args, type CommandHandler, hasOption, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { exitCode } from '../command-line/exit-code.ts'
import { untilSignal } from '../command-line/until-signal.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { workersOf } from '../dispatch/dispatch-options.ts'
import { chooseModel, openNamedModel } from '../model/choose-model.ts'
import { plural } from '../output/number.ts'
import { printJson } from '../output/print.ts'
import { tildify } from '../output/tildify.ts'
import { shownLocation } from '../store/store-location.ts'
import { createServedAgents } from './served-agents.ts'
import { createServedMcp } from './served-mcp.ts'
import { defaultTenant, openServedStores } from './served-stores.ts'
import type { ServedWorkers, ServedWorkersOptions } from './served-workers.ts'
import { ensureTokenFile } from './token-file.ts'

/** `skein serve`: serves the store over HTTP until a signal ends it. */
export const serveCommand: CommandHandler = async (args, context) => {
  const config = await readConfig(context.cwd, context.env)
  const address = addressOf(args, config)
  checkPublic(address, config)
  const level = levelOf(args, config)
  await checkModel(args, context, config)
  const workers = hasOption(args, 'workers') ? workersOf(textOption(args, 'workers')) : 0
  const store = await context.store()
  const stores = await openServedStores(context, config)
  const agents = createServedAgents(args, context, config, stores.storeOf)
  const mcp = createServedMcp(args, context, config, stores)
  const file = await ensureTokenFile(context.env, store, context.now())
  const [{ createService }, { listen }, { default: pino }, { Registry }] = await Promise.all([
    import('../../server/service.ts'),
    import('../../server/listen.ts'),
    import('pino'),
    import('prom-client'),
  ])
  const { publicUrl, hosts, maxTurns } = config.server
  const log = level === 'silent' ? null : pino({ level }, pino.destination({ fd: 2, sync: true }))
  const registry = new Registry()
  const service = createService({
    storeOf: stores.storeOf,
    tokens: store,
    agentOf: agents.agentOf,
    mcp: mcp.fetch,
    ...(publicUrl !== null && { publicUrl }),
    hosts,
    log,
    metrics: registry,
    limits: { maxTurns },
    tenants: [defaultTenant],
    sweepMs: config.conversation.cleanupIntervalMs,
  })
  // Before the address is printed: a signal that follows at once must end the service in order.
  const stop = untilSignal()
  const listening = await listenOn(listen, service, address)
  const working = workers > 0 ? await startWorkers(args, context, { workers, config, registry, log }) : null
  await announce(args, context, config, listening, file, await store.countConversations())
  await stop
  // Calls of MCP end first: a connection stays open as long as its call.
  await mcp.close()
  await Promise.all([listening.close(), working?.stop()])
  await agents.close()
  await stores.close()
  return exitCode.ok
}

async function startWorkers(
  args: Args,
  context: CommandContext,
  options: ServedWorkersOptions,
): Promise<ServedWorkers> {
  const { startServedWorkers } = await import('./served-workers.ts')
  return startServedWorkers(args, context, options)
}

/** An unknown `--model` is an error at the start, not in the first turn. A missing key is an error of a turn:
 *  most requests need no model. */
async function checkModel(args: Args, context: CommandContext, config: Config): Promise<void> {
  if (!hasOption(args, 'model')) return
  try {
    await openNamedModel(chooseModel(args, context.env, config).id, context, config)
  } catch (error) {
    if (!(error instanceof MissingKeyError)) throw error
  }
}

/** `--listen` and `--port` override `server.listen`. */
function addressOf(args: Args, config: Config): ListenAddress {
  const text = textOption(args, 'listen')
  const given = text === undefined ? config.server.listen : listenAddress(text)
  if (given instanceof Error) throw new UsageError(`--listen: ${JSON.stringify(text)} ${given.message}`)
  const port = textOption(args, 'port')
  if (port === undefined) return given
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new UsageError(`--port takes a number from 0 to 65535, not ${JSON.stringify(port)}`)
  return { ...given, port: Number(port) }
}

/** Other machines need a name for the service: requests that name another host are refused. */
function checkPublic({ host }: ListenAddress, { server }: Config): void {
  const isLoopback = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
  if (isLoopback || server.publicUrl !== null) return
  throw new UsageError(
    `${host} is open to other machines, and server.public_url is not set`,
    'Set it in skein.yaml, to the address that clients use: https://skein.example.org',
  )
}

function levelOf(args: Args, config: Config): LogLevel {
  const text = textOption(args, 'log-level')
  if (text === undefined) return config.server.logLevel
  const level = logLevels.find(known => known === text)
  if (level === undefined)
    throw new UsageError(`there is no log level ${JSON.stringify(text)}`, `Levels: ${logLevels.join(', ')}`)
  return level
}

async function listenOn(
  listen: (service: Service, address: ListenAddress) => Promise<Listening>,
  service: Service,
  address: ListenAddress,
): Promise<Listening> {
  try {
    return await listen(service, address)
  } catch (error) {
    // Ends the first sweep before the store is closed.
    await service.close()
    const { host, port } = address
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') {
      const hint = `Is skein serve running already? Use another: skein serve --port ${port + 1}`
      throw new UnavailableError(`port ${port} of ${host} is in use`, { hint })
    }
    if (code === 'EADDRNOTAVAIL' || code === 'EACCES' || code === 'ENOTFOUND')
      throw new UsageError(`cannot listen on ${host}:${port} (${code})`, 'Choose another address: --listen')
    throw error
  }
}

async function announce(
  args: Args,
  context: CommandContext,
  config: Config,
  { host, port }: Listening,
  file: string,
  conversations: number,
): Promise<void> {
  const { out, env, json, quiet } = context
  const url = config.server.publicUrl ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const { id, from } = chooseModel(args, env, config)
  const store = shownLocation(context)
  if (json) {
    printJson(context, { url, host, port, store, conversations, token_file: file, model: id })
  } else if (!quiet) {
    const { symbols, safe } = out.style
    const dot = ` ${symbols.dot} `
    const model = from === 'nothing' ? `${id} (no API key set)` : id
    const shownFile = tildify(file, env)
    const path = /^[\w~/.+-]+$/.test(shownFile) ? shownFile : `'${file.replaceAll("'", "'\\''")}'`
    out.line(safe([`serving ${url}`, store, plural(conversations, 'conversation')].join(dot)))
    out.line(safe([`token: ${shownFile}`, `model: ${model}`].join(dot)))
    out.line(safe(`try: curl -H "Authorization: Bearer $(cat ${path})" ${url}/api/v1/conversations`))
  }
  await out.drained()
}
