import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { toolServer } from './mcp-tools.ts'

export interface HttpMcpServer extends AsyncDisposable {
  readonly url: string
  /** The headers of every request so far. */
  readonly headers: readonly IncomingMessage['headers'][]
}

/** An MCP server on a loopback port. With a token it refuses requests without it. */
export async function serveMcp(
  options: { token?: string; legacy?: 'stateless' | 'reject'; port?: number } = {},
): Promise<HttpMcpServer> {
  const handler = createMcpHandler(toolServer, { legacy: options.legacy ?? 'stateless' })
  const headers: IncomingMessage['headers'][] = []
  const server = createServer(async (incoming, outgoing) => {
    headers.push(incoming.headers)
    if (options.token !== undefined && incoming.headers.authorization !== `Bearer ${options.token}`) {
      outgoing.writeHead(401).end('who are you?')
      return
    }
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    const { method = 'GET' } = incoming
    const body =
      method === 'GET' || method === 'HEAD' ? {} : { body: Readable.toWeb(incoming), duplex: 'half' }
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method,
      headers: incoming.headers as Record<string, string>,
      signal: gone.signal,
      ...body,
    } as RequestInit)
    const response = await handler.fetch(request)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body) await pipeline(Readable.fromWeb(response.body as never), outgoing).catch(() => {})
    else outgoing.end()
  })
  await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await Promise.all([handler.close(), new Promise(resolve => server.close(resolve))])
    },
  }
}
