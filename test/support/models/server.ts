import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { anthropic } from './anthropic.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'
import { openaiChat } from './openai-chat.ts'
import type { Asked, Protocol, ProtocolName } from './protocol.ts'
import { type Frame, isWait, type Reply, type ReplyUsage, type Speech } from './reply.ts'

const protocols: readonly Protocol[] = [openai, openaiChat, anthropic, google]

/** A request as it arrived. */
export interface SeenRequest extends Asked {
  /** Counts from 0 over all requests of this server. */
  readonly n: number
  readonly provider: ProtocolName
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The body as it was sent. */
  readonly body: unknown
  /** Why it was refused by the provider's rules, or null. */
  readonly refused: string | null
  /** Resolves when the connection closes: true if the client left before the answer was complete. */
  readonly gone: Promise<boolean>
}

export interface ModelServerOptions {
  /** The answer. Default: `ok`. Not called for requests that break the provider's rules. */
  readonly reply?: (request: SeenRequest) => Reply | Promise<Reply>
  /** Requests with another key are refused with 401. Default: any key is accepted. */
  readonly key?: string
  /** Accepts everything that can be parsed, as many compatible servers do: other programs' requests are not
   *  ours to check. */
  readonly lenient?: boolean
}

export interface ModelServer {
  /** `http://127.0.0.1:<port>`, without a path. */
  readonly url: string
  /** The base URLs for `openModel` and the AI SDK, with the path that each provider's client expects. */
  readonly baseUrls: Readonly<Record<'openai' | 'anthropic' | 'google' | 'ollama' | 'compatible', string>>
  /** All requests so far, including refused ones. */
  readonly requests: readonly SeenRequest[]
  close(): Promise<void>
}

/** A loopback server that implements the protocols of OpenAI, Anthropic and Google, refuses what they would
 *  refuse, and otherwise answers as the test specifies. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: SeenRequest[] = []
  const server = createServer((request, response) => {
    serve(request, response, requests, options).catch(error => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`the loopback server failed: ${error}`)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    baseUrls: {
      openai: `${url}/v1`,
      anthropic: `${url}/v1`,
      google: `${url}/v1beta`,
      ollama: url,
      compatible: `${url}/v1`,
    },
    requests,
    async close() {
      if (!server.listening) return
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  requests: SeenRequest[],
  options: ModelServerOptions,
): Promise<void> {
  const path = (request.url ?? '').replace(/\?.*/, '')
  const protocol = protocols.find(one => one.matches(path))
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  if (protocol === undefined)
    return send(response, 404, { error: { message: `nothing is served at ${path}` } })
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
  if (options.key !== undefined && protocol.keyOf(headers) !== options.key) {
    return send(
      response,
      401,
      protocol.failure(401, `Incorrect API key provided: ${protocol.keyOf(headers)}.`),
    )
  }
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
  const refused = options.lenient ? null : protocol.refuse(body, headers)
  const gone = new Promise<boolean>(resolve =>
    response.on('close', () => resolve(!response.writableFinished)),
  )
  const asked = refused === null ? protocol.read(path, body) : unread(protocol, path, body)
  const seen = { ...asked, n: requests.length, provider: protocol.name, path, headers, body, refused, gone }
  requests.push(seen)
  if (refused !== null) return send(response, 400, protocol.failure(400, refused))
  await answer(response, protocol, seen, (await options.reply?.(seen)) ?? 'ok')
}

/** A request that breaks the rules may be unreadable. */
function unread(protocol: Protocol, path: string, body: unknown): Asked {
  try {
    return protocol.read(path, body)
  } catch {
    return { model: '', stream: false, messages: [], tools: [] }
  }
}

async function answer(
  response: ServerResponse,
  protocol: Protocol,
  seen: SeenRequest,
  reply: Reply,
): Promise<void> {
  if (typeof reply !== 'string' && 'overflow' in reply) {
    const { status, body } = protocol.overflow(reply.overflow.limit, reply.overflow.needed)
    return send(response, status, body)
  }
  if (typeof reply !== 'string' && 'status' in reply) {
    const { status, retryAfter } = reply
    const body = protocol.failure(status, reply.message ?? `the loopback server was told to answer ${status}`)
    return send(response, status, body, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) })
  }
  const speech = speechOf(reply, seen)
  if (seen.stream) return stream(response, protocol.stream(speech))
  for (const part of speech.parts) if (isWait(part) && !(await passes(part, response))) return
  send(response, 200, protocol.whole(speech))
}

function speechOf(
  reply: Exclude<Reply, { status: number } | { overflow: unknown }>,
  seen: SeenRequest,
): Speech {
  const { parts, usage, finish } =
    typeof reply === 'string'
      ? { parts: [{ text: reply }] }
      : (reply as {
          parts: Speech['parts']
          usage?: ReplyUsage
          finish?: Speech['finish']
        })
  const calls = parts.some(part => 'call' in part)
  const filled = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0, ...usage }
  const serial = randomBytes(4).toString('hex')
  return {
    parts,
    usage: filled,
    finish: finish ?? (calls ? 'tool_calls' : 'stop'),
    model: seen.model,
    serial,
  }
}

async function stream(response: ServerResponse, frames: Iterable<Frame>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  for (const frame of frames) {
    if (response.destroyed) return
    if (typeof frame !== 'string') {
      if (!(await passes(frame, response))) return
    } else if (!response.write(frame)) await drained(response)
  }
  response.end()
}

/** One listener per response: an answer may wait many times. */
const closing = new WeakMap<ServerResponse, Promise<void>>()

/** Waits as specified; false if the answer ends here. */
async function passes(part: Exclude<Frame, string>, response: ServerResponse): Promise<boolean> {
  if ('cut' in part) {
    if (part.cut === 'end') response.end()
    else await flushed(response).then(() => response.destroy())
    return false
  }
  const closed = closing.get(response) ?? new Promise<void>(resolve => response.on('close', resolve))
  closing.set(response, closed)
  if ('gate' in part) await Promise.race([part.gate, closed])
  else if ('delayMs' in part) await Promise.race([wait(part.delayMs), closed])
  else await closed
  return !response.destroyed
}

/** The data has been passed to the system: an earlier cut would lose text. */
function flushed(response: ServerResponse): Promise<void> {
  if (!response.headersSent) return Promise.resolve()
  return new Promise(resolve => response.write(': cut\n\n', () => resolve()))
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    response.once('drain', resolve)
    response.once('close', resolve)
  })
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
