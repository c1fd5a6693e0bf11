import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { addToken, startService } from '../server/harness.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const browser = ['/usr/bin', '/usr/local/bin', '/snap/bin']
  .flatMap(folder => names.map(one => join(folder, one)))
  .find(existsSync)

/** `skein/client` as one file for a browser. */
async function bundledClient(): Promise<string> {
  const input = join(import.meta.dirname, '../../src/client/index.ts')
  await using bundle = await rolldown({ input, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm' })
  expect(output).toHaveLength(1)
  return output[0].code
}

/** Runs in the page: follows, is cut off, asks, and reports what it has seen. */
const script = `
import { createClient } from '/client.js'
const report = result => fetch('/result', { method: 'POST', body: JSON.stringify(result) })
try {
  const [token, id] = location.hash.slice(1).split(',')
  const client = createClient({ url: location.origin, token })
  const stop = new AbortController()
  const seen = []
  const asking = (async () => {
    let text = ''
    for await (const event of client.askEvents(id, { content: 'Count' }))
      if (event.type === 'text') text += event.text
    return text
  })
  let answer
  for await (const { event } of client.follow({ conversations: [id], signal: stop.signal })) {
    if (event.type === 'branches' && seen.length === 0) {
      await client.appendMessages(id, { messages: [{ role: 'user', content: 'before the cut' }] })
      await fetch('/cut', { method: 'POST' })
      await client.appendMessages(id, { messages: [{ role: 'user', content: 'after the cut' }] })
      answer = asking()
    }
    if (event.type !== 'message') continue
    seen.push(event.message.blocks.map(block => block.text).join(''))
    if (event.message.role === 'assistant') stop.abort()
  }
  const missing = await client.getMessage('a'.repeat(32)).catch(error => error.code)
  await report({ seen, answer: await answer, missing })
} catch (error) {
  await report({ error: String(error?.stack ?? error) })
}
`

it.skipIf(browser === undefined)(
  'follows, reconnects and asks in a real browser',
  { timeout: 120_000 },
  async () => {
    await using service = await startService({ script: ['one two three'] })
    const client = await bundledClient()
    const result = Promise.withResolvers<unknown>()
    const streams = new Set<ServerResponse>()
    // One origin for the page and the service: there is no CORS.
    const server = createServer(async (incoming, response): Promise<unknown> => {
      const { method = 'GET', url = '/' } = incoming
      const send = (type: string, body: string) => response.setHeader('content-type', type).end(body)
      if (url === '/') return send('text/html', `<script type="module">${script}</script>`)
      if (url === '/client.js') return send('text/javascript', client)
      if (url === '/favicon.ico') return response.writeHead(404).end()
      if (url === '/cut') {
        for (const stream of streams) stream.destroy()
        return response.end()
      }
      if (url === '/result') {
        result.resolve(JSON.parse(await text(incoming)))
        return response.end()
      }
      const headers = Object.entries(incoming.headers).filter(
        ([name]) => !/^(host|origin|connection)$/.test(name),
      )
      const body = method === 'GET' ? {} : { body: await text(incoming) }
      const answer = await fetch(service.url + url, {
        method,
        headers: headers.map(([name, value]) => [name, String(value)]),
        ...body,
      })
      if (url.includes('/follow')) {
        streams.add(response)
        response.on('close', () => streams.delete(response))
      }
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! })
      Readable.fromWeb(answer.body as never)
        .on('error', () => response.destroy())
        .pipe(response)
      return undefined
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const folder = mkdtempSync(join(tmpdir(), 'skein-browser-'))
    const { conversation } = await service.store.create()
    const token = await addToken(service.store, ['read', 'write', 'ask'])
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/#${token},${conversation.id}`
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
    // The browser talks to this test and to no other host.
    const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync']
    const args = [...flags, ...quiet, '--no-first-run', `--user-data-dir=${folder}`, address]
    const child = spawn(browser!, args, {
      stdio: 'ignore',
      detached: true,
      env: { ...process.env, HOME: folder },
    })
    try {
      const ended = once(child, 'exit').then(([code]) => ({ error: `the browser ended with ${code}` }))
      expect(await Promise.race([result.promise, ended])).toEqual({
        seen: ['before the cut', 'after the cut', 'Count', 'one two three'],
        answer: 'one two three',
        missing: 'not_found',
      })
    } finally {
      // The browser and its own processes.
      if (child.exitCode === null) {
        process.kill(-child.pid!, 'SIGKILL')
        await once(child, 'exit')
      }
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    }
  },
)
