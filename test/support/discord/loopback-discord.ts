import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGateway, type Gateway } from './gateway.ts'
import { channelPayload, interactionPayload, messagePayload, serverPayload, userPayload } from './payloads.ts'
import { createRateLimiter, type RateLimit } from './rate-limit.ts'
import { answerRequest, type RestState } from './rest.ts'

export interface LoopbackUser {
  readonly id: string
  readonly name: string
  readonly bot?: boolean
}

export interface LoopbackChannel {
  readonly id: string
  readonly name: string
  /** Null for a direct message. */
  readonly serverId: string | null
  /** The channel of a thread. */
  readonly parentId: string | null
  /** The person of a direct message. */
  readonly userId: string | null
  readonly isPrivate?: boolean
  /** The bot is a member of the thread. */
  isJoined?: boolean
}

export interface LoopbackMessage {
  readonly id: string
  readonly author: LoopbackUser
  readonly text: string
  readonly replyTo: { readonly id: string; readonly author: LoopbackUser } | null
  readonly at: number
  readonly editedAt: number | null
  readonly attachments: readonly object[]
}

/** A message of the bot. */
export interface BotPost {
  readonly id: string
  readonly channelId: string
  text: string
  readonly replyTo: string | null
  /** The whole request, to inspect `allowed_mentions`. */
  readonly request: Readonly<Record<string, unknown>>
  /** The times of the requests that made and changed it. */
  readonly times: number[]
  isDeleted: boolean
}

/** What a command answered, and whether only its user sees it. */
export interface CommandReply {
  readonly id: string
  text: string
  isPrivate: boolean
  /** The ids of its buttons. */
  buttons: readonly string[]
}

export interface LoopbackOptions {
  readonly servers?: readonly { readonly id: string; readonly name: string }[]
  readonly channels?: readonly LoopbackChannel[]
  /** Default: 5 requests per 5 s for messages of a channel, as Discord has it, but in a tenth of the time. */
  readonly limit?: RateLimit
  /** The application has the Message Content intent. Default: true. */
  readonly hasContentIntent?: boolean
  /** The permissions of the bot in its servers. Default: all. */
  readonly permissions?: string
}

export interface SayOptions {
  readonly id?: string
  readonly replyTo?: { readonly id: string; readonly author: LoopbackUser }
  readonly attachments?: readonly { readonly name: string; readonly mime: string; readonly data: Buffer }[]
  /** Stores the message without delivering it. */
  readonly isHeld?: boolean
}

/** A small Discord on loopback: the parts of the REST API and of the gateway that a bot uses. */
export interface LoopbackDiscord {
  /** For `rest.api` and `SKEIN_DISCORD_API`. */
  readonly api: string
  readonly token: string
  readonly bot: LoopbackUser
  readonly owner: LoopbackUser
  readonly gateway: Gateway
  /** A new direct message channel. */
  dm(user: LoopbackUser): LoopbackChannel
  /** A new thread, which the gateway announces. `on` is the message that it is started on. */
  thread(
    parent: LoopbackChannel,
    name: string,
    how?: { on?: string; isPrivate?: boolean; isJoined?: boolean },
  ): LoopbackChannel
  /** A person says something. Returns the id of the message. */
  say(channel: LoopbackChannel, author: LoopbackUser, text: string, options?: SayOptions): string
  /** Delivers a message again, or one that was held back. */
  deliver(id: string): void
  edit(id: string, text: string): void
  remove(channel: LoopbackChannel, id: string): void
  command(
    channel: LoopbackChannel,
    user: LoopbackUser,
    name: string,
    options?: Record<string, string | number>,
  ): string
  press(channel: LoopbackChannel, user: LoopbackUser, buttonId: string): string
  /** The messages of the bot in a channel, in order. */
  posts(channel: LoopbackChannel): readonly BotPost[]
  /** The message of the bot that replies to a message. */
  answerTo(id: string): BotPost | undefined
  reply(commandId: string): CommandReply | undefined
  readonly registered: readonly { readonly name: string }[]
  readonly typing: readonly string[]
  /** Requests that were refused with 429. */
  readonly refused: number
  readonly requests: readonly string[]
  /** Resolves when the condition holds. It is tried after every request and event. */
  until<T>(condition: () => T | undefined | false | null): Promise<T>
  /** Delays every request to change a message. */
  editDelayMs: number
  newId(): string
  close(): Promise<void>
}

/** Discord's epoch: ids are milliseconds since then, shifted by 22 bits. */
const epoch = 1_420_070_400_000n
const token = 'MTE3.loopback.token-which-must-appear-nowhere'

export async function startLoopbackDiscord(options: LoopbackOptions = {}): Promise<LoopbackDiscord> {
  const { servers = [], limit = { requests: 5, periodMs: 500 } } = options
  let last = (BigInt(Date.now()) - epoch) << 22n
  const newId = () => String(++last)
  const bot = { id: '900', name: 'Skein', bot: true }
  const owner = { id: '1', name: 'Owner' }
  const channels = new Map((options.channels ?? []).map(one => [one.id, one]))
  const messages = new Map<string, LoopbackMessage & { readonly channelId: string }>()
  const commands = new Map<string, CommandReply>()
  const watchers = new Set<() => void>()
  const notify = () => {
    for (const watch of [...watchers]) watch()
  }
  const limiter = createRateLimiter(limit)
  const state: RestState = {
    token,
    bot,
    owner,
    servers,
    channels,
    messages,
    commands,
    posts: [],
    typing: [],
    registered: [],
    requests: [],
    files: new Map(),
    editDelayMs: 0,
    flags: options.hasContentIntent === false ? 0 : 1 << 18,
    permissions: options.permissions ?? '309237713920',
    newId,
    thread,
    notify,
    admits: limiter.admits,
    gatewayUrl: () => `${base().replace('http', 'ws')}/gateway`,
    dispatch: (type, data) => gateway.dispatch(type, data),
  }
  const http = createServer((request: IncomingMessage, response) => {
    answerRequest(state, request, response).catch(error => {
      response.writeHead(500)
      response.end(String(error))
    })
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  const base = () => `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const gateway = createGateway(http, welcome, token)

  function welcome(linkId: string): readonly (readonly [string, object])[] {
    const ready = {
      v: 10,
      user: userPayload(bot),
      guilds: servers.map(({ id }) => ({ id, unavailable: true })),
      session_id: linkId,
      resume_gateway_url: state.gatewayUrl(),
      application: { id: bot.id, flags: state.flags },
    }
    const all = [...channels.values()]
    const created = servers.map(
      ({ id, name }) => ['GUILD_CREATE', serverPayload(id, name, all, bot)] as const,
    )
    return [['READY', ready], ...created]
  }

  function thread(
    parent: LoopbackChannel,
    name: string,
    {
      on,
      isPrivate = false,
      isJoined = false,
    }: { on?: string; isPrivate?: boolean; isJoined?: boolean } = {},
  ): LoopbackChannel {
    const { serverId } = parent
    const made = { id: on ?? newId(), name, serverId, parentId: parent.id, userId: null, isPrivate, isJoined }
    channels.set(made.id, made)
    gateway.dispatch('THREAD_CREATE', { ...channelPayload(made, bot), newly_created: true })
    return made
  }

  function deliver(id: string): void {
    const message = messages.get(id)!
    gateway.dispatch('MESSAGE_CREATE', messagePayload(message, channels.get(message.channelId)!, bot))
  }

  function interact(channel: LoopbackChannel, user: LoopbackUser, type: 2 | 3, data: object): string {
    const id = newId()
    commands.set(id, { id, text: '', isPrivate: false, buttons: [] })
    gateway.dispatch(
      'INTERACTION_CREATE',
      interactionPayload({ id, token: `it-${id}`, applicationId: bot.id, channel, user, bot, data, type }),
    )
    return id
  }

  const discord: LoopbackDiscord = {
    api: `${base()}/api`,
    token,
    bot,
    owner,
    gateway,
    dm(user) {
      const made = { id: newId(), name: user.name, serverId: null, parentId: null, userId: user.id }
      channels.set(made.id, made)
      return made
    },
    thread,
    say(channel, author, text, { id = newId(), replyTo, attachments = [], isHeld } = {}) {
      channels.set(channel.id, channel)
      const files = attachments.map(({ name, mime, data }) => {
        const fileId = newId()
        state.files.set(fileId, data)
        return {
          ...{ id: fileId, filename: name, content_type: mime, size: data.length },
          ...{ url: `${base()}/cdn/${fileId}`, proxy_url: `${base()}/cdn/${fileId}` },
        }
      })
      const facts = { id, author, text, replyTo: replyTo ?? null, at: Date.now(), editedAt: null }
      messages.set(id, { ...facts, attachments: files, channelId: channel.id })
      if (!isHeld) deliver(id)
      return id
    },
    deliver,
    edit(id, text) {
      const edited = { ...messages.get(id)!, text, editedAt: Date.now() }
      messages.set(id, edited)
      gateway.dispatch('MESSAGE_UPDATE', messagePayload(edited, channels.get(edited.channelId)!, bot))
    },
    remove(channel, id) {
      messages.delete(id)
      const post = state.posts.find(one => one.id === id)
      if (post) post.isDeleted = true
      const { serverId } = channel
      gateway.dispatch('MESSAGE_DELETE', {
        id,
        channel_id: channel.id,
        ...(serverId !== null && { guild_id: serverId }),
      })
    },
    command: (channel, user, name, given = {}) =>
      interact(channel, user, 2, {
        id: newId(),
        name,
        type: 1,
        options: Object.entries(given).map(([key, value]) => ({
          name: key,
          type: typeof value === 'string' ? 3 : 4,
          value,
        })),
      }),
    press: (channel, user, customId) =>
      interact(channel, user, 3, { custom_id: customId, component_type: 2 }),
    posts: channel => state.posts.filter(post => post.channelId === channel.id),
    answerTo: id => state.posts.findLast(({ replyTo }) => replyTo === id),
    reply: id => commands.get(id),
    get registered() {
      return state.registered
    },
    typing: state.typing,
    requests: state.requests,
    get refused() {
      return limiter.refused
    },
    until: condition =>
      new Promise((resolve, reject) => {
        const watch = () => {
          try {
            const value = condition()
            if (!value) return
            stop()
            resolve(value)
          } catch (error) {
            stop()
            reject(error)
          }
        }
        // The store and the gateway change without a request, too.
        const timer = setInterval(watch, 20)
        const patience = setTimeout(() => {
          stop()
          reject(new Error(`it did not happen: ${condition}\n${state.requests.slice(-20).join('\n')}`))
        }, 20_000)
        const stop = () => {
          clearTimeout(patience)
          clearInterval(timer)
          watchers.delete(watch)
        }
        watchers.add(watch)
        watch()
      }),
    get editDelayMs() {
      return state.editDelayMs
    },
    set editDelayMs(ms) {
      state.editDelayMs = ms
    },
    newId,
    async close() {
      await gateway.end()
      http.closeAllConnections()
      await new Promise(resolve => http.close(resolve))
    },
  }
  return discord
}
