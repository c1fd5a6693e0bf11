import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connectHttp, generations } from '../../mcp/clients.ts'
import { type Running, start, storeOf } from '../running.ts'
import { type Home, home } from '../skein.ts'
import { terminal } from '../terminal.ts'

/** A running service and its address. */
async function serve(here: Home, ...args: readonly string[]) {
  const running: Running = start(here, ['serve', '--port', '0', '--json', ...args])
  await running.says('"model"')
  const tokenFile = join(here.env.XDG_CONFIG_HOME!, 'skein/token')
  const token = readFileSync(tokenFile, 'utf8').trim()
  const said = running.printed()
  const { url } = JSON.parse(said) as { url: string }
  const get = (path: string, init: RequestInit = {}) =>
    fetch(url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  return { running, url, token, tokenFile, get }
}

describe('skein serve', () => {
  it('prints where it serves, makes a token that only its user can read, and says what to try', async () => {
    using here = home()
    await using store = await storeOf(here)
    await store.create()
    const running = start(here, ['serve', '--port', '0'])
    await running.says('/api/v1/conversations\n')
    const [serving, token, attempt] = running.printed().split('\n')
    expect(serving).toMatch(
      /^serving http:\/\/127\.0\.0\.1:\d+ · ~\/\.local\/share\/skein\/conversations\.db · 1 conversation$/,
    )
    expect(token).toBe('token: ~/.config/skein/token · model: scripted (no API key set)')
    const url = serving!.split(' ')[1]
    expect(attempt).toBe(
      `try: curl -H "Authorization: Bearer $(cat ~/.config/skein/token)" ${url}/api/v1/conversations`,
    )
    const file = join(here.env.XDG_CONFIG_HOME!, 'skein/token')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).toMatch(/^skein_[\w-]{43}\n$/)
    running.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
  })
  it('answers with the token, keeps it for the next start and for another store', async () => {
    using here = home()
    const first = await serve(here)
    expect((await first.get('/api/v1/conversations')).status).toBe(200)
    first.running.kill('SIGINT')
    expect((await first.running.ended).code).toBe(0)
    const second = await serve(here, '--db', join(here.cwd, 'other.db'))
    expect(second.token).toBe(first.token)
    expect((await second.get('/api/v1/conversations')).status).toBe(200)
    second.running.kill('SIGTERM')
    await second.running.ended
  })
  it('asks the model, and finishes the turn before it ends on SIGTERM', async () => {
    using here = home()
    const { running, get } = await serve(here)
    const json = { 'content-type': 'application/json' }
    const made = await get('/api/v1/conversations', { method: 'POST', headers: json, body: '{}' })
    const { id } = (await made.json()) as { id: string }
    const body = JSON.stringify({ content: '/slow one two three' })
    const asked = await get(`/api/v1/conversations/${id}/turns`, { method: 'POST', headers: json, body })
    expect(asked.status).toBe(202)
    running.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
    await using store = await storeOf(here)
    const { items } = await store.listTurns(id)
    expect(items.map(({ status }) => status)).toEqual(['complete'])
    expect((await store.getConversation(id)).messages).toBe(2)
  })
  it('runs queued tasks with --workers, counts them, and finishes the one that runs on SIGTERM', {
    timeout: 120_000,
  }, async () => {
    using here = home()
    const { running, get } = await serve(here, '--workers', '2', '--log-level', 'info')
    const submit = async (id: string, description: string) => {
      const body = JSON.stringify({ id, description })
      const headers = { 'content-type': 'application/json' }
      expect((await get('/api/v1/tasks', { method: 'POST', headers, body })).status).toBe(201)
    }
    const status = async (id: string) =>
      ((await (await get(`/api/v1/tasks/${id}`)).json()) as { status: string }).status
    await submit('quick', 'My name is Ada.')
    await expect.poll(() => status('quick'), { timeout: 30_000 }).toBe('done')
    const readMetrics = async () => (await (await get('/metrics')).text()).split('\n')
    // A dispatch is counted when the disk has confirmed its end, which a reader may see before.
    await expect.poll(readMetrics).toContain('skein_dispatches_total{status="done"} 1')
    const metrics = await readMetrics()
    for (const line of [
      'skein_dispatches_running 0',
      'skein_dispatch_queue_seconds_count 1',
      'skein_tasks{status="done"} 1',
    ])
      expect(metrics).toContain(line)
    await submit('slow', `/slow 50 ${'word '.repeat(30)}`)
    await expect.poll(() => status('slow'), { timeout: 30_000 }).toBe('running')
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended
    expect(code).toBe(0)
    expect(stderr).toContain('"task":"slow","n":1,"status":"done"')
    expect(stderr).not.toMatch(/Ada|word word/)
    await using store = await storeOf(here)
    expect(await store.getTask('slow')).toMatchObject({ status: 'done' })
  })
  it('answers MCP clients at /mcp, with a token only', async () => {
    using here = home()
    {
      await using store = await storeOf(here)
      const { branch } = await store.create({ title: 'Harbour' })
      await store.append(branch, null, [{ role: 'user', content: 'The tide turns at noon.' }])
    }
    const { running, url, token } = await serve(here)
    for (const generation of generations) {
      await using mcp = await connectHttp(url, token, generation)
      const { tools } = await mcp.client.listTools()
      expect(tools.map(({ name }) => name)).toContain('search_conversations')
      const found = await mcp.call('search_conversations', { query: 'tide' })
      expect([found.isError, found.text]).toEqual([false, expect.stringContaining('tide turns')])
    }
    expect((await fetch(`${url}/mcp`, { method: 'POST', body: '{}' })).status).toBe(401)
    running.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
  })
  it('continues without a terminal when it gets SIGHUP, as under nohup', async () => {
    using here = home()
    const { running, get } = await serve(here)
    running.kill('SIGHUP')
    // Answered after the signal: a handler that ended the service would refuse the second connection.
    for (let i = 0; i < 2; i++)
      expect((await get('/api/v1/conversations', { headers: { connection: 'close' } })).status).toBe(200)
    running.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
  })
  it('finishes its turns when its terminal is closed', async () => {
    using here = home()
    using service = terminal(here, ['serve', '--port', '0'], { columns: 200 })
    await service.see('/api/v1/conversations\n')
    const [url] = /http:\/\/[\d.:]+/.exec(service.screen())!
    const token = readFileSync(join(here.env.XDG_CONFIG_HOME!, 'skein/token'), 'utf8').trim()
    const post = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${url}/api/v1${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return (await response.json()) as { id: string }
    }
    const { id } = await post('/conversations', {})
    await post(`/conversations/${id}/turns`, { content: '/slow 300 one two three four five' })
    service.hangUp()
    expect(await service.ended).toBe(0)
    await using store = await storeOf(here)
    expect((await store.listTurns(id)).items.map(({ status }) => status)).toEqual(['complete'])
  })
  it('ends at once with a second signal', async () => {
    using here = home()
    const { running, get } = await serve(here)
    const json = { 'content-type': 'application/json' }
    const made = await get('/api/v1/conversations', { method: 'POST', headers: json, body: '{}' })
    const { id } = (await made.json()) as { id: string }
    const body = JSON.stringify({ content: `/slow ${'word '.repeat(2_000)}` })
    await get(`/api/v1/conversations/${id}/turns`, { method: 'POST', headers: json, body })
    running.kill('SIGINT')
    await expect
      .poll(() =>
        get('/readyz').then(
          ({ status }) => status,
          () => 'gone',
        ),
      )
      .not.toBe(200)
    running.kill('SIGINT')
    expect((await running.ended).code).toBe(130)
  })
  it('says which port is in use, and what to type', async () => {
    using here = home()
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const { code, stderr } = await here.skein(['serve', '--port', String(port)])
    expect([code, stderr.trim().split('\n').length]).toEqual([1, 1])
    expect(stderr).toContain(`port ${port} of 127.0.0.1 is in use`)
    expect(stderr).toContain(`skein serve --port ${port + 1}`)
    other.close()
  })
  it('refuses an address of other machines without public_url (R18)', async () => {
    using here = home()
    const refused = await here.skein(['serve', '--listen', '0.0.0.0', '--port', '0'])
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('server.public_url')])
    const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'skein.yaml'), 'server:\n  public_url: https://skein.example.org\n')
    const { running, url } = await serve(here, '--listen', '0.0.0.0')
    expect(url).toBe('https://skein.example.org')
    running.kill('SIGTERM')
    await running.ended
  })
  it('logs requests without contents, at the level that was asked for', async () => {
    using here = home()
    const { running, get } = await serve(here, '--log-level', 'info')
    await get('/api/v1/search?q=swordfish')
    running.kill('SIGTERM')
    const { stderr } = await running.ended
    expect(JSON.parse(stderr.split('\n')[0]!)).toMatchObject({ route: '/api/v1/search', status: 200 })
    expect(stderr).not.toContain('swordfish')
    expect((await here.skein(['serve', '--log-level', 'loud'])).code).toBe(2)
  })
  it('refuses a model that does not exist before it serves', async () => {
    using here = home()
    const { code, stderr } = await here.skein(['serve', '--port', '0', '-m', 'nope/x'])
    expect(code).toBe(2)
    expect(stderr).toContain('nope')
  })
})

describe('skein token', () => {
  it('creates, lists and revokes tokens, and shows a secret once', async () => {
    using here = home()
    const made = await here.skein([
      'token',
      'create',
      'ci',
      '--scope',
      'read,ask',
      '--expires',
      '90d',
      '--json',
    ])
    const token = JSON.parse(made.stdout) as { token: string; id: string }
    expect(token).toMatchObject({ name: 'ci', scopes: ['read', 'ask'], tenant: 'default', revoked_at: null })
    const { url, running } = await serve(here)
    const status = async () =>
      (await fetch(`${url}/api/v1/stats`, { headers: { authorization: `Bearer ${token.token}` } })).status
    expect(await status()).toBe(200)
    const listed = await here.skein(['token', 'ls'])
    expect(listed.stdout).toContain(token.id)
    expect(listed.stdout).not.toContain(token.token)
    expect((await here.skein(['token', 'revoke', token.id])).code).toBe(0)
    await expect.poll(status, { timeout: 10_000 }).toBe(401)
    running.kill('SIGTERM')
    await running.ended
    const plain = await here.skein(['token', 'create'])
    expect(plain.stdout).toMatch(/^skein_[\w-]{43}\n$/)
    expect(plain.stderr).toContain('it has no name. skein token create <name> gives one')
  })
  it('refuses unknown verbs, scopes and durations', async () => {
    using here = home()
    for (const args of [
      ['make'],
      ['create', 'x', '--scope', 'all'],
      ['create', 'x', '--expires', 'soon'],
      ['revoke'],
    ])
      expect((await here.skein(['token', ...args])).code, args.join(' ')).toBe(2)
    const { stderr } = await here.skein(['token'])
    expect(stderr).toMatch(/^skein: token needs create, ls or revoke\b/)
    expect(await here.skein(['token', 'revoke', 'nothing'])).toMatchObject({
      code: 3,
      stderr: 'skein: there is no token "nothing". skein token ls lists tokens\n',
    })
  })
})
