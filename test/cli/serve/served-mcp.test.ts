import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectHttp, generations } from '../../mcp/clients.ts'
import { type Running, start, storeOf } from '../running.ts'
import { type Home, home } from '../skein.ts'

/** One process for all tests: none of them depends on another. */
let here: Home
let running: Running
let url: string
let token: string

beforeAll(async () => {
  here = home()
  const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'skein.yaml'), JSON.stringify({ agents: { helper: { model: 'scripted' } } }))
  await here.skein(['-q', 'The staging host is otter.'])
  running = start(here, ['serve', '--port', '0', '--json', '--agent', 'helper'])
  await running.says('"model"')
  url = (JSON.parse(running.printed()) as { url: string }).url
  token = readFileSync(join(folder, 'token'), 'utf8').trim()
})

afterAll(async () => {
  running.kill('SIGTERM')
  expect((await running.ended).code).toBe(0)
  here[Symbol.dispose]()
})

/** A token with these scopes, made by the command while the service runs. */
async function tokenFor(...scopes: readonly string[]): Promise<string> {
  const made = await here.skein(['token', 'create', scopes.join('-'), '--scope', scopes.join(','), '--json'])
  return (JSON.parse(made.stdout) as { token: string }).token
}

/** Sends a list request with these headers, as a program that is not a browser can. */
function statusWith(headers: IncomingHttpHeaders): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const all = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${token}`,
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/mcp`, { method: 'POST', headers: all }, response => {
      response.resume()
      resolve(response.statusCode!)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('/mcp of skein serve', () => {
  it.each(generations)('searches, remembers and asks with protocol %s', async generation => {
    await using connected = await connectHttp(url, token, generation)
    expect(connected.client.getNegotiatedProtocolVersion()).toBe(generation)
    const { tools } = await connected.client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      ...['search_conversations', 'read_conversation', 'list_conversations'],
      ...['remember', 'label_message', 'ask'],
    ])
    const found = await connected.call('search_conversations', { query: 'otter' })
    expect(found.text).toContain('The staging host is otter.')
    const note = await connected.call('remember', { text: `noted with ${generation}` })
    expect(note.data.stored).toBe(true)
    const asked = await connected.call('ask', { task: 'My name is Ada' })
    expect(asked.text).toContain('Ada')
    await using store = await storeOf(here)
    const [run] = (await store.listConversations({ kind: 'subagent' })).items
    expect(run!.label ?? '').toMatch(/^subagent:helper:/)
  })
  it('offers a token only the tools of its scopes', async () => {
    const names = async (...scopes: readonly string[]) => {
      await using connected = await connectHttp(url, await tokenFor(...scopes))
      return (await connected.client.listTools()).tools.map(({ name }) => name).slice(3)
    }
    expect(await names('read')).toEqual([])
    expect(await names('read', 'write')).toEqual(['remember', 'label_message'])
    expect(await names('read', 'ask')).toEqual(['ask'])
  })
  it('refuses other tokens, hosts and origins (R18)', async () => {
    expect(await statusWith({})).toBe(200)
    expect(await statusWith({ authorization: 'Bearer skein_wrong' })).toBe(401)
    expect(await statusWith({ authorization: '' })).toBe(401)
    expect(await statusWith({ authorization: `Bearer ${await tokenFor('write')}` })).toBe(403)
    expect(await statusWith({ host: 'evil.example' })).toBe(421)
    expect(await statusWith({ origin: 'https://evil.example' })).toBe(403)
    expect(await statusWith({ origin: url })).toBe(200)
  })
})
