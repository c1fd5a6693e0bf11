import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type AcpClient, type ClientOptions, startClient } from '../../test/acp/agents/client.ts'
import { strangeEnvironment } from '../../test/support/place.ts'
import { root, run } from '../check/command.ts'
import { type MarkedModel, startMarkedModel } from './model.ts'
import type { RealAgent } from './real-agent.ts'

/** The layer between the editor and the agent. */
export const ways = ['directly', 'behind skein acp', 'in skein agent'] as const
export type Way = (typeof ways)[number]

/** An isolated machine for one agent: an empty home, its own settings, its own model. */
export interface AgentWorld extends AsyncDisposable {
  /** The name of the agent. */
  readonly name: string
  readonly model: MarkedModel
  /** The file of our store. */
  readonly store: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly command: readonly string[]
  /** Our own command, as built. */
  readonly skein: string
  /** Starts an editor with the agent. Remaining processes are killed at the end. */
  start(editor?: Partial<ClientOptions>): Promise<AcpClient>
}

export interface WorldOptions {
  readonly agent: RealAgent
  /** The folder of the agent's commands. */
  readonly bin: string
  readonly way: Way
  /** Our own command, as built. */
  readonly skein: string
  /** The file of our store. Default: a new one. */
  readonly store?: string
  /** The working directory. Default: a new one. */
  readonly cwd?: string
}

export async function openWorld({ agent, bin, way, skein, ...options }: WorldOptions): Promise<AgentWorld> {
  const place = mkdtempSync(join(tmpdir(), 'skein-agents-'))
  const model = await startMarkedModel()
  const given = strangeEnvironment(place, process.env)
  const home = given.HOME!
  const world = { home, model: model.url }
  const cwd = options.cwd ?? join(place, 'work')
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'readme.txt'), 'A folder to work in.\n')
  for (const [path, text] of Object.entries(agent.files?.(world) ?? {})) {
    mkdirSync(dirname(resolve(home, path)), { recursive: true })
    writeFileSync(resolve(home, path), text)
  }
  const path = [join(root, 'node_modules/.bin'), bin, process.env.PATH].join(delimiter)
  const store = options.store ?? join(place, 'store.db')
  const env = { ...given, LANG: 'C.UTF-8', PATH: path, SKEIN_DB: store, ...agent.env(world) }
  if (agent.firstRun) {
    const [command, ...args] = agent.firstRun(world)
    await run(join(bin, command!), args, { cwd, env })
  }
  const bare = [join(bin, agent.command[0]), ...agent.command.slice(1)]
  const behind = [process.execPath, skein, 'acp', '--', ...bare]
  const command = way === 'behind skein acp' ? behind : bare
  const clients: AcpClient[] = []
  if (agent.startsWithTheMinute) await wait(60_000 - (Date.now() % 60_000))
  return {
    name: agent.name,
    model,
    store,
    cwd,
    env,
    command,
    skein,
    async start(editor = {}) {
      const client = await startClient(command, { cwd, env, patienceMs: 90_000, ...editor })
      clients.push(client)
      return client
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map(client => client.kill9()))
      await model.close()
      rmSync(place, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Waits until no update has arrived for a while: agents send more after an answer. */
export async function quiet(client: AcpClient, ms = 1_000): Promise<void> {
  for (let seen = -1; seen !== client.lines.length; ) {
    seen = client.lines.length
    await wait(ms)
  }
}
