import { createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, it } from 'vitest'
import { createClient, ServiceError } from '../../src/client/index.ts'
import { startService } from '../server/harness.ts'

/** A proxy whose connections a test can cut. */
async function startCutter(port: () => number) {
  const sockets = new Set<Socket>()
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const onward = request({ host: '127.0.0.1', port: port(), method, path: url, headers }, answer => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

it('follows across cut connections without a gap or a duplicate', { timeout: 60_000 }, async () => {
  await using service = await startService()
  await using cutter = await startCutter(() => service.port)
  const { conversation, branch } = await service.store.create()
  const client = createClient({ url: cutter.url, token: service.token })
  const stop = new AbortController()
  const texts: string[] = []
  let head: string | null = null
  const say = async (text: string) => {
    head = (await service.store.append(branch, head, [{ role: 'user', content: text }])).head
  }
  const request = { conversations: [conversation.id], signal: stop.signal }
  for await (const { event } of client.follow(request)) {
    if (event.type === 'branches' && texts.length === 0) await say('0')
    if (event.type !== 'message') continue
    texts.push((event.message.blocks[0] as { text: string }).text)
    // While it is away, two more are stored.
    if (texts.length % 3 === 0) cutter.cut()
    if (texts.length === 12) stop.abort()
    else if (texts.length % 2 === 1) {
      await say(`${texts.length}`)
      await say(`${texts.length + 1}`)
    }
  }
  expect(texts).toEqual(Array.from({ length: 12 }, (_, n) => `${n}`))
})

it('continues at another process when the one that it follows shuts down', { timeout: 60_000 }, async () => {
  await using one = await startService()
  await using two = await startService({ db: one.db })
  let { port } = one
  await using proxy = await startCutter(() => port)
  const { conversation, branch } = await two.store.create()
  const client = createClient({ url: proxy.url, token: one.token })
  const stop = new AbortController()
  const seen: string[] = []
  let head: string | null = null
  const say = async (text: string) => {
    head = (await two.store.append(branch, head, [{ role: 'user', content: text }])).head
  }
  for await (const { event } of client.follow({ conversations: [conversation.id], signal: stop.signal })) {
    seen.push(event.type === 'message' ? (event.message.blocks[0] as { text: string }).text : event.type)
    if (event.type === 'branches' && !seen.includes('first')) await say('first')
    if (seen.at(-1) === 'first') {
      port = two.port
      // The store stays open: only the service of the first process ends.
      await one.listening.close()
      await say('second')
    }
    if (seen.at(-1) === 'second') stop.abort()
  }
  expect(seen.filter(text => text === 'first' || text === 'second')).toEqual(['first', 'second'])
  expect(seen).not.toContain('closing')
})

it('throws if the service refuses the request', async () => {
  await using service = await startService()
  const client = createClient({ url: service.url, token: service.token })
  const events = client.follow({ conversations: ['00000000-0000-4000-8000-000000000000'] })
  await expect(events.next()).rejects.toBeInstanceOf(ServiceError)
})
