import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { type LoopbackDiscord, startLoopbackDiscord } from '../../support/discord/loopback-discord.ts'
import { agentHome } from '../agent/with-agents.ts'
import { servedHome } from '../model/with-server.ts'
import { start, storeOf } from '../running.ts'
import { home } from '../skein.ts'
import { ownFile } from './own-file.ts'

describe('server.*, from yaml to effect', () => {
  it('listen, public_url, hosts, max_turns and log_level', async () => {
    using here = home()
    const port = await freePort()
    ownFile(here, {
      server: {
        listen: `127.0.0.1:${port}`,
        public_url: 'https://skein.example.org',
        hosts: ['inner'],
        max_turns: 1,
        log_level: 'info',
      },
    })
    const running = start(here, ['serve', '--json', '-m', 'scripted'])
    await running.says('"model"')
    const token = readFileSync(join(here.env.XDG_CONFIG_HOME!, 'skein/token'), 'utf8').trim()
    const { url } = JSON.parse(running.printed())
    expect(url).toBe('https://skein.example.org')
    const call = (path: string, host: string, body?: object) =>
      statusOf(
        port,
        path,
        { authorization: `Bearer ${token}`, 'content-type': 'application/json', host },
        body,
      )
    const statuses = []
    for (const host of ['skein.example.org', 'inner', 'evil.example'])
      statuses.push((await call('/api/v1/stats', host)).status)
    expect(statuses).toEqual([200, 200, 421])
    const turns = ['a', 'b'].map(async key => {
      const { id } = JSON.parse((await call('/api/v1/conversations', 'inner', { key })).text)
      const content = `/slow 50 ${'word '.repeat(30)}`
      return (await call(`/api/v1/conversations/${id}/turns`, 'inner', { content })).status
    })
    expect((await Promise.all(turns)).sort().at(-1)).toBe(429)
    running.kill('SIGTERM')
    const { stderr } = await running.ended
    expect(stderr).toContain('"route":"/api/v1/stats"')
  })
})

describe('conversation.cleanup_interval', () => {
  it('is how often skein serve sweeps', async () => {
    using here = home()
    await using store = await storeOf(here)
    const { conversation, branch } = await store.create({ task: 'T-9', expiresAt: new Date(1_000) })
    await store.append(branch, null, [{ role: 'user', content: 'old' }])
    ownFile(here, { conversation: { cleanup_interval: '50ms' } })
    const running = start(here, ['serve', '--json', '--port', '0', '-m', 'scripted'])
    await running.says('"model"')
    await expect.poll(() => store.countConversations({ trashed: true }), { timeout: 20_000 }).toBe(1)
    running.kill('SIGTERM')
    await running.ended
    expect(conversation.id).toBeDefined()
  })
})

describe('acp.summarize', () => {
  it('summarizes a long conversation for the next agent', async () => {
    await using at = await agentHome()
    const input = Array.from({ length: 12 }, (_, n) => `fact ${n}\n`).join('')
    const told = async () => {
      expect((await at.piped(['-n'], 'forgetful', { input })).code).toBe(0)
      await at.piped(['-c', '--name', 'next'], 'forgetful', { input: 'continue\n' })
      return JSON.stringify(at.model.last)
    }
    expect(await told()).not.toContain('Previous conversation summary')
    ownFile(at.here, { acp: { summarize: 'on' } })
    expect(await told()).toContain('Previous conversation summary')
  })
})

describe('discord.*, from yaml to effect', () => {
  const server = { id: '500', name: 'Lab' }
  const ada = { id: '7001', name: 'Ada' }
  const general = { id: '600', name: 'general', serverId: '500', parentId: null, userId: null }
  const secret = { id: '601', name: 'secret', serverId: '500', parentId: null, userId: null }

  async function bot(settings: object, model = 'scripted') {
    const here = home()
    const discord = await startLoopbackDiscord({ servers: [server], channels: [general, secret] })
    ownFile(here, { model, discord: { token: discord.token, ...settings } })
    const running = start(here, ['discord'], { SKEIN_DISCORD_API: discord.api })
    await running.says('answers in Discord')
    return {
      here,
      discord,
      async [Symbol.asyncDispose]() {
        running.kill('SIGTERM')
        await running.ended
        await discord.close()
        here[Symbol.dispose]()
      },
    }
  }
  const answered = (discord: LoopbackDiscord, id: string) => discord.until(() => discord.answerTo(id))

  it('token, allow.channels, allow.people, thread_context, on_delete and max_agents', async () => {
    await using at = await bot({
      allow: { channels: [general.id], people: [ada.id] },
      thread_context: 'inherit',
      on_delete: 'erase',
      max_agents: 1,
    })
    const { discord, here } = at
    const eve = { id: '7002', name: 'Eve' }
    const mention = `<@${discord.bot.id}> `
    // Eve may speak in the listed channel and nowhere else; Ada everywhere.
    const unheard = discord.say(secret, eve, `${mention}not here`)
    const first = discord.say(general, eve, `${mention}My name is Eve`)
    await answered(discord, first)
    const dm = discord.dm(ada)
    const direct = discord.say(dm, ada, 'The password is swordfish')
    await discord.until(() => discord.posts(dm)[0])
    expect(discord.answerTo(unheard)).toBeUndefined()
    const thread = discord.thread(general, 'More', { on: first, isJoined: true })
    discord.say(thread, eve, 'What is my name?')
    await discord.until(() => discord.posts(thread)[0]?.text.includes('Eve'))
    await using store = await storeOf(here)
    const found = await store.findByKey(`discord:dm:${ada.id}`)
    // With one agent, the second place waits until the first turn is complete.
    discord.say(dm, ada, `/slow 20 ${'word '.repeat(20)}end`)
    const next = discord.say(general, eve, `${mention}hello`)
    await discord.until(() => discord.posts(general)[1]?.replyTo === next)
    const { items: turns } = await store.listTurns(found!.conversation.id)
    expect(turns.map(({ status }) => status)).toEqual(['complete', 'complete'])
    discord.remove(dm, direct)
    const erased = async () => {
      const { items } = await store.listMessages({ conversationId: found!.conversation.id, roles: ['user'] })
      return items.flatMap(({ erased }) => erased?.reason ?? [])
    }
    await expect.poll(erased, { timeout: 20_000 }).toEqual(['deleted in Discord'])
  })

  it('allow.servers and system', async () => {
    await using model = await servedHome()
    const here = home()
    const discord = await startLoopbackDiscord({ servers: [server], channels: [general] })
    ownFile(here, {
      model: 'compatible/x',
      discord: { token: discord.token, allow: { servers: [server.id] }, system: 'Be brief.' },
      providers: { compatible: { base_url: model.server.baseUrls.compatible } },
    })
    const running = start(here, ['discord'], { SKEIN_DISCORD_API: discord.api })
    await running.says('answers in Discord')
    const question = discord.say(general, ada, `<@${discord.bot.id}> hello`)
    await answered(discord, question)
    expect(model.server.requests[0]!.messages[0]).toMatchObject({ role: 'system' })
    expect(model.server.requests[0]!.messages[0]!.text).toContain('Be brief.')
    running.kill('SIGTERM')
    await running.ended
    await discord.close()
    here[Symbol.dispose]()
  })
})

/** As `fetch`, which does not let a program choose the host. */
function statusOf(port: number, path: string, headers: Record<string, string>, body?: object) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request({ port, path, headers, method: body ? 'POST' : 'GET' }, response => {
      text(response).then(content => resolve({ status: response.statusCode ?? 0, text: content }), reject)
    })
    sent.on('error', reject).end(body && JSON.stringify(body))
  })
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise(resolve => probe.close(resolve))
  return port
}
