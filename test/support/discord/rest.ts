import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type {
  BotPost,
  CommandReply,
  LoopbackChannel,
  LoopbackMessage,
  LoopbackUser,
} from './loopback-discord.ts'
import { channelPayload, messagePayload, userPayload } from './payloads.ts'

/** What the REST API reads and changes. */
export interface RestState {
  readonly token: string
  readonly bot: LoopbackUser
  readonly owner: LoopbackUser
  readonly servers: readonly { readonly id: string; readonly name: string }[]
  readonly channels: Map<string, LoopbackChannel>
  readonly messages: Map<string, LoopbackMessage & { readonly channelId: string }>
  readonly commands: Map<string, CommandReply>
  readonly posts: BotPost[]
  readonly typing: string[]
  registered: readonly { readonly name: string }[]
  readonly requests: string[]
  readonly files: Map<string, Buffer>
  editDelayMs: number
  readonly flags: number
  readonly permissions: string
  newId(): string
  thread(parent: LoopbackChannel, name: string, how?: { isJoined?: boolean }): LoopbackChannel
  notify(): void
  admits(bucket: string, response: ServerResponse): boolean
  gatewayUrl(): string
  dispatch(type: string, data: object): void
}

type Body = Readonly<Record<string, unknown>>
type Answer = readonly [status: number, body: object | null]

const unknownMessage: Answer = [404, { message: 'Unknown Message', code: 10_008 }]

export async function answerRequest(
  state: RestState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://loopback')
  const file = /^\/cdn\/(\d+)$/.exec(pathname)?.[1]
  if (file !== undefined) return void response.end(state.files.get(file))
  const path = decodeURIComponent(pathname).replace(/^\/api\/v10/, '')
  const line = `${request.method} ${path}`
  state.requests.push(line)
  const body = await readBody(request)
  // Interactions and webhooks carry a token of their own.
  const isOpen = /^\/(interactions|webhooks)\//.test(path)
  const isOurs = isOpen || request.headers.authorization === `Bot ${state.token}`
  if (!isOurs) return send(response, [401, { message: '401: Unauthorized', code: 0 }])
  const channel = /^\/channels\/(\d+)\//.exec(path)?.[1]
  const bucket = channel && /\/messages/.test(path) ? `${request.method} messages ${channel}` : null
  if (bucket !== null && !state.admits(bucket, response)) return
  if (request.method === 'PATCH' && state.editDelayMs > 0) await wait(state.editDelayMs)
  send(response, route(state, line, body))
  state.notify()
}

function send(response: ServerResponse, [status, body]: Answer): void {
  if (body !== null) response.setHeader('content-type', 'application/json')
  response.writeHead(status)
  response.end(body === null ? undefined : JSON.stringify(body))
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text.startsWith('{') ? JSON.parse(text) : text.startsWith('[') ? { list: JSON.parse(text) } : {}
}

const routes: readonly (readonly [RegExp, (state: RestState, body: Body, ...ids: string[]) => Answer])[] = [
  [/^GET \/gateway\/bot$/, gatewayFacts],
  [/^GET \/applications\/@me$/, application],
  [/^GET \/users\/@me$/, ({ bot }) => [200, userPayload(bot)]],
  [/^GET \/users\/@me\/guilds$/, guilds],
  [/^PUT \/applications\/\d+\/commands$/, register],
  [
    /^GET \/channels\/(\d+)$/,
    ({ channels, bot }, _, id) => found(channels.get(id!), one => channelPayload(one, bot)),
  ],
  [/^POST \/channels\/(\d+)\/typing$/, typing],
  [/^POST \/channels\/(\d+)\/threads$/, makeThread],
  [/^POST \/channels\/(\d+)\/messages$/, post],
  [/^PATCH \/channels\/(\d+)\/messages\/(\d+)$/, edit],
  [/^GET \/channels\/(\d+)\/messages\/(\d+)$/, readOne],
  [/^GET \/channels\/(\d+)\/messages$/, readBefore],
  [/^POST \/interactions\/(\d+)\/[^/]+\/callback$/, acknowledge],
  [/^PATCH \/webhooks\/\d+\/it-(\d+)\/messages\/@original$/, replyTo],
]

function route(state: RestState, line: string, body: Body): Answer {
  for (const [pattern, run] of routes) {
    const match = pattern.exec(line)
    if (match) return run(state, body, ...match.slice(1))
  }
  return [404, { message: `no route for ${line}`, code: 0 }]
}

function found<T>(value: T | undefined, payload: (value: T) => object): Answer {
  return value === undefined ? [404, { message: 'Unknown Channel', code: 10_003 }] : [200, payload(value)]
}

function gatewayFacts({ gatewayUrl }: RestState): Answer {
  const limits = { total: 1_000, remaining: 999, reset_after: 0, max_concurrency: 1 }
  return [200, { url: gatewayUrl(), shards: 1, session_start_limit: limits }]
}

function application({ bot, owner, flags }: RestState): Answer {
  return [200, { id: bot.id, name: bot.name, flags, owner: userPayload(owner), team: null }]
}

function guilds({ servers, permissions }: RestState): Answer {
  return [200, servers.map(({ id, name }) => ({ id, name, permissions, owner: false, features: [] }))]
}

function register(state: RestState, { list }: Body): Answer {
  state.registered = list as RestState['registered']
  return [200, state.registered.map(one => ({ ...one, id: '1', application_id: state.bot.id, version: '1' }))]
}

function typing(state: RestState, _: Body, channelId?: string): Answer {
  state.typing.push(channelId!)
  return [204, null]
}

function makeThread(state: RestState, { name }: Body, channelId?: string): Answer {
  const made = state.thread(state.channels.get(channelId!)!, String(name), { isJoined: true })
  return [201, channelPayload(made, state.bot)]
}

function post(state: RestState, body: Body, channelId?: string): Answer {
  const text = String(body.content ?? '')
  if (text.trim() === '' || text.length > 2_000) return [400, { message: 'Invalid Form Body', code: 50_035 }]
  const reference = body.message_reference as
    | { message_id?: string; fail_if_not_exists?: boolean }
    | undefined
  const target = reference?.message_id
  const exists = target !== undefined && state.messages.has(target)
  if (target !== undefined && !exists && reference?.fail_if_not_exists !== false)
    return [400, { message: 'Unknown message', code: 50_035 }]
  // Discord recognizes a request that a client repeats.
  const same = body.enforce_nonce === true && state.posts.find(one => one.request.nonce === body.nonce)
  const made: BotPost = same || {
    id: state.newId(),
    channelId: channelId!,
    text,
    replyTo: exists ? target : null,
    request: body,
    times: [],
    isDeleted: false,
  }
  if (!same) {
    state.posts.push(made)
    made.times.push(performance.now())
    const channel = state.channels.get(channelId!)
    if (channel) channel.isJoined = true
    state.dispatch('MESSAGE_CREATE', payloadOf(state, made))
  }
  return [200, payloadOf(state, made)]
}

function payloadOf(state: RestState, { id, channelId, text, replyTo: target }: BotPost): object {
  const author = target === null ? undefined : state.messages.get(target)?.author
  const message = {
    ...{ id, author: state.bot, text, at: Date.now(), editedAt: null, attachments: [] },
    replyTo: target === null ? null : { id: target, author: author ?? state.owner },
  }
  return messagePayload(message, state.channels.get(channelId)!, state.bot)
}

function edit(state: RestState, body: Body, _channelId?: string, id?: string): Answer {
  const known = state.posts.find(one => one.id === id && !one.isDeleted)
  if (!known) return unknownMessage
  known.text = String(body.content ?? '')
  known.times.push(performance.now())
  return [200, payloadOf(state, known)]
}

function readOne(state: RestState, _: Body, channelId?: string, id?: string): Answer {
  const own = state.posts.find(one => one.id === id && !one.isDeleted)
  if (own) return [200, payloadOf(state, own)]
  const message = state.messages.get(id!)
  if (!message) return unknownMessage
  return [200, messagePayload(message, state.channels.get(channelId!)!, state.bot)]
}

function readBefore(state: RestState, _: Body, channelId?: string): Answer {
  const own = state.posts.filter(one => one.channelId === channelId && !one.isDeleted)
  return [200, own.toReversed().map(one => payloadOf(state, one))]
}

function acknowledge(state: RestState, body: Body, id?: string): Answer {
  const known = state.commands.get(id!)!
  const { flags = 0 } = (body.data ?? {}) as { flags?: number }
  known.isPrivate = (flags & 64) !== 0
  return [204, null]
}

function replyTo(state: RestState, body: Body, id?: string): Answer {
  const known = state.commands.get(id!)!
  known.text = String(body.content)
  const rows = (body.components ?? []) as { components: { custom_id: string }[] }[]
  known.buttons = rows.flatMap(row => row.components.map(one => one.custom_id))
  const at = new Date().toISOString()
  const rest = { mentions: [], mention_roles: [], attachments: [], embeds: [], mention_everyone: false }
  const facts = { id, channel_id: '1', author: userPayload(state.bot), content: known.text, timestamp: at }
  return [200, { ...facts, ...rest, edited_timestamp: null, tts: false, pinned: false, type: 0 }]
}
