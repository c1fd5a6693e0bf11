import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent } from '../../../src/agent/agent.ts'
import { createDiscordChannel } from '../../../src/channels/discord/channel.ts'
import { type ConnectedBot, connectDiscord } from '../../../src/channels/discord/client.ts'
import { type DiscordSettings, discordDefaults } from '../../../src/config/discord-settings.ts'
import { textOf } from '../../../src/core/message.ts'
import type { Model, ModelRequest } from '../../../src/core/model.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { type ScriptedOptions, scripted } from '../../../src/models/scripted.ts'
import { openStore } from '../../../src/stores/open.ts'
import {
  type LoopbackChannel,
  type LoopbackDiscord,
  type LoopbackOptions,
  startLoopbackDiscord,
} from '../../support/discord/loopback-discord.ts'

/** A server with two channels, of which one is private. */
export const server = { id: '500', name: 'Lab' }
export const general: LoopbackChannel = channelIn(server.id, '510', 'general')
export const secret: LoopbackChannel = { ...channelIn(server.id, '511', 'secret'), isPrivate: true }
export const ada = { id: '42', name: 'Ada' }
export const eve = { id: '66', name: 'Eve' }

export function channelIn(serverId: string, id: string, name: string): LoopbackChannel {
  return { id, name, serverId, parentId: null, userId: null }
}

export interface TestBot {
  readonly discord: LoopbackDiscord
  readonly store: Store
  readonly file: string
  /** Every request to the model, in order. */
  readonly requests: readonly ModelRequest[]
  /** What was reported for the log. */
  readonly problems: readonly string[]
  readonly bot: ConnectedBot
  /** Connects another process to the same Discord and store, after the first has ended or died. */
  restart(): Promise<ConnectedBot>
  /** The texts of a conversation, by its key. */
  texts(key: string): Promise<readonly string[]>
  [Symbol.asyncDispose](): Promise<void>
}

export interface TestBotOptions extends LoopbackOptions {
  /** A file or a URL. Default: a new SQLite file. */
  readonly db?: string
  readonly settings?: Partial<DiscordSettings>
  readonly script?: ScriptedOptions['script']
  readonly model?: (made: Model) => Model
  readonly editMs?: number
  readonly idleMs?: number
  /** Changes what is opened for a conversation: for controls. */
  readonly openAgent?: (open: OpenAgent) => OpenAgent
  readonly store?: (store: Store) => Store
  readonly onNote?: (text: string) => void
}

export type OpenAgent = (conversationId: string) => Promise<ReturnType<typeof createAgent>>

/** A bot with the real client, a real store and a scripted model, on a loopback Discord. */
export async function startBot(options: TestBotOptions = {}): Promise<TestBot> {
  const place = mkdtempSync(join(tmpdir(), 'skein-discord-'))
  const file = join(place, 'conversations.db')
  const discord = await startLoopbackDiscord({ servers: [server], channels: [general, secret], ...options })
  const opened = await openStore(options.db ?? file)
  const store = options.store?.(opened) ?? opened
  const requests: ModelRequest[] = []
  const problems: string[] = []
  const made = scripted(options.script === undefined ? {} : { script: options.script })
  const watched: Model = {
    id: made.id,
    stream(request) {
      requests.push(request)
      return made.stream(request)
    },
  }
  const model = options.model?.(watched) ?? watched
  const open: OpenAgent = async () => createAgent({ store, model, speakers: true })
  const settings = {
    ...discordDefaults,
    allow: { servers: [server.id], channels: [], people: [ada.id, eve.id] },
    ...options.settings,
  }
  const connect = () =>
    connectDiscord({
      token: discord.token,
      api: discord.api,
      onNote: text => {
        problems.push(text)
        options.onNote?.(text)
      },
      open: async ({ owners }) =>
        createDiscordChannel({
          store,
          openAgent: options.openAgent?.(open) ?? open,
          settings,
          owners,
          models: { standard: 'scripted', names: ['fast'], choose: async name => `test/${name}` },
          secrets: [discord.token],
          onProblem: (what, error) => problems.push(`${what}: ${error}`),
          ...(options.editMs !== undefined && { editMs: options.editMs }),
          ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
        }),
    })
  let bot = await connect()
  return {
    discord,
    store,
    file,
    requests,
    problems,
    get bot() {
      return bot
    },
    async restart() {
      await bot.close()
      bot = await connect()
      return bot
    },
    async texts(key) {
      const found = await store.findByKey(key)
      return found?.branch.head ? (await pathOf(store, found.branch.head)).map(textOf) : []
    },
    async [Symbol.asyncDispose]() {
      await bot.close()
      await discord.close()
      await opened.close()
      rmSync(place, { recursive: true, force: true })
    },
  }
}

/** The texts that a model call contained. */
export function wordsIn(request: ModelRequest): string {
  return request.messages.map(textOf).join('\n')
}
