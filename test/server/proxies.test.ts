import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readEvents } from '../../src/client/read-events.ts'
import { startService } from './harness.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/service.md'), 'utf8')
const name = 'skein.example.org'

/** The first code block of the page that has this text. */
function snippet(text: string): string {
  const blocks = [...page.matchAll(/^```[a-z]*\n(.*?)^```$/gms)].map(([, block]) => block!)
  return blocks.find(block => block.includes(text))!
}

/** A proxy as the page describes it, without TLS and on a socket. Its files are in `folder`. */
interface Proxy {
  readonly program: string | undefined
  /** Its arguments, after it has written its configuration. */
  configure(folder: string, socket: string, port: number): readonly string[]
}

const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    program: ['/usr/sbin/nginx', '/usr/bin/nginx'].find(existsSync),
    configure(folder, socket, port) {
      const server = snippet('proxy_pass')
        .replace('listen 443 ssl', `listen unix:${socket}`)
        .replace(/^ *ssl_.*\n/gm, '')
        .replace('127.0.0.1:4717', `127.0.0.1:${port}`)
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      const temporary = places.map(one => `${one}_temp_path ${folder}/${one};`).join('\n')
      const file = join(folder, 'nginx.conf')
      // One process, with the rights of this one.
      const main = `daemon off;\nmaster_process off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}`
      writeFileSync(file, `${main}\nhttp {\naccess_log off;\n${temporary}\n${server}}\n`)
      return ['-e', 'stderr', '-p', folder, '-c', file]
    },
  },
  Caddy: {
    program: ['/usr/bin/caddy', '/usr/local/bin/caddy'].find(existsSync),
    configure(folder, socket, port) {
      const site = snippet('reverse_proxy')
        .replace(`${name} {`, `http://${name} {\n  bind unix/${socket}`)
        .replace('127.0.0.1:4717', `127.0.0.1:${port}`)
      const file = join(folder, 'Caddyfile')
      writeFileSync(file, `{\n  admin off\n  auto_https off\n}\n${site}`)
      return ['run', '--adapter', 'caddyfile', '--config', file]
    },
  },
}

/** Waits until the proxy answers on its socket. */
async function started(child: ChildProcess, socket: string): Promise<void> {
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk
  })
  for (let isUp = false; !isUp; ) {
    if (child.exitCode !== null) throw new Error(`the proxy ended: ${said}`)
    isUp = await new Promise<boolean>(resolve => {
      const probe = request({ socketPath: socket, path: '/healthz', headers: { host: name } }, response => {
        response.resume()
        resolve(response.statusCode === 200)
      })
      probe.on('error', () => setTimeout(() => resolve(false), 20)).end()
    })
  }
}

describe.each(Object.entries(proxies))('behind %s, with the snippet of docs/service.md', (_, proxy) => {
  it.skipIf(proxy.program === undefined)(
    'streams events and turns without a buffer, and passes bodies and refusals on',
    { timeout: 60_000 },
    async () => {
      const hold = Promise.withResolvers<void>()
      const script = [{ text: 'one two', gate: (n: number) => (n === 1 ? hold.promise : Promise.resolve()) }]
      await using service = await startService({ script, publicUrl: `https://${name}` })
      const folder = mkdtempSync(join(tmpdir(), 'skein-proxy-'))
      const socket = join(folder, 'socket')
      const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
      const args = proxy.configure(folder, socket, service.port)
      const child = spawn(proxy.program!, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
      try {
        await started(child, socket)
        const send = async (method: string, path: string, body?: string, headers = {}) => {
          const own = { host: name, authorization: `Bearer ${service.token}`, ...headers }
          const sent = request({ socketPath: socket, method, path: `/api/v1${path}`, headers: own })
          sent.end(body)
          const [response] = (await once(sent, 'response')) as [IncomingMessage]
          return response
        }
        const json = { 'content-type': 'application/json' }
        const events = (response: IncomingMessage) =>
          readEvents(Readable.toWeb(response) as ReadableStream<Uint8Array>)[Symbol.asyncIterator]()
        const { conversation } = await service.store.create()
        const path = `/conversations/${conversation.id}`

        // Each event arrives while the stream is open, and long before it would fill a buffer.
        const followed = events(await send('GET', `/follow?conversation=${conversation.id}`))
        expect((await followed.next()).value).toMatchObject({ event: 'branches' })
        const large = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(3_000_000) }] })
        expect((await send('POST', `${path}/messages`, large, json)).statusCode).toBe(201)
        let told = await followed.next()
        while (told.value?.event !== 'message') told = await followed.next()

        const asked = { ...json, accept: 'text/event-stream' }
        const turn = events(await send('POST', `${path}/turns`, '{"content":"Count"}', asked))
        expect((await turn.next()).value).toMatchObject({ event: 'started' })
        let text = await turn.next()
        while (text.value?.event !== 'text') text = await turn.next()
        hold.resolve()
        for (let next = await turn.next(); !next.done; next = await turn.next()) text = next
        expect(text.value).toMatchObject({ event: 'ended' })

        const lines = Readable.from([await (await service.fetch('/export')).text()])
        const imported = request({
          socketPath: socket,
          method: 'POST',
          path: '/api/v1/import',
          headers: { host: name, authorization: `Bearer ${service.token}` },
        })
        lines.pipe(imported)
        const [done] = (await once(imported, 'response')) as [IncomingMessage]
        expect(done.statusCode).toBe(200)
        const refused = await send('GET', '/stats', undefined, { origin: 'https://evil.example' })
        expect(refused.statusCode).toBe(403)
        expect((await send('GET', '/stats', undefined, { origin: `https://${name}` })).statusCode).toBe(200)
      } finally {
        child.kill('SIGKILL')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
        rmSync(folder, { recursive: true, force: true })
      }
    },
  )
})
