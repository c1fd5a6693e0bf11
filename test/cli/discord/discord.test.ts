import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { pathOf } from '../../../src/core/path.ts'
import {
  type LoopbackDiscord,
  type LoopbackOptions,
  startLoopbackDiscord,
} from '../../support/discord/loopback-discord.ts'
import { type Running, start, storeOf } from '../running.ts'
import { type Home, home } from '../skein.ts'

const server = { id: '500', name: 'Lab' }

interface World {
  readonly here: Home
  readonly discord: LoopbackDiscord
  run(...args: readonly string[]): Promise<Running>
  [Symbol.asyncDispose](): Promise<void>
}

async function world(options: LoopbackOptions = { servers: [server] }): Promise<World> {
  const here = home()
  const discord = await startLoopbackDiscord(options)
  Object.assign(here.env, { DISCORD_TOKEN: discord.token, SKEIN_DISCORD_API: discord.api })
  return {
    here,
    discord,
    async run(...args) {
      const running = start(here, ['discord', ...args])
      await running.says('answers in Discord')
      return running
    },
    async [Symbol.asyncDispose]() {
      await discord.close()
      here[Symbol.dispose]()
    },
  }
}

describe('skein discord', () => {
  it('answers, is listed beside everything else, and continues in the shell (S0-22, S0-42)', async () => {
    await using it = await world()
    const { discord, here } = it
    const running = await it.run()
    expect(running.printed()).toMatch(
      /^Skein#?\S* answers in Discord · 1 server · .*conversations\.db · scripted\n$/,
    )
    const dm = discord.dm(discord.owner)
    discord.say(dm, discord.owner, 'My name is Ada')
    await discord.until(() => discord.posts(dm)[0])
    const listed = await here.skein(['ls', '--all', '--json'])
    expect(JSON.parse(listed.stdout)).toMatchObject([{ channel: 'discord', directory: null }])
    const shell = await here.skein(['-c', 'discord:dm:1', 'What is my name?'])
    expect(shell.stdout).toContain('Ada')
    discord.say(dm, discord.owner, 'What did I say first?')
    await discord.until(() => discord.posts(dm)[1])
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended
    expect(code).toBe(0)
    expect(stderr).not.toContain(discord.token)
    await using store = await storeOf(here)
    const found = await store.findByKey('discord:dm:1')
    const path = await pathOf(store, found!.branch.head!)
    expect(path.map(textOf).filter((_, i) => i % 2 === 0)).toEqual([
      ...['My name is Ada', 'What is my name?', 'What did I say first?'],
    ])
  })
  it.each([
    ['SIGTERM', 0],
    ['SIGKILL', 137],
  ] as const)('keeps a half answer after %s, and continues with memory', async (signal, code) => {
    await using it = await world()
    const { discord, here } = it
    const first = await it.run()
    const dm = discord.dm(discord.owner)
    discord.say(dm, discord.owner, 'My name is Ada')
    await discord.until(() => discord.posts(dm)[0])
    discord.say(dm, discord.owner, `/slow ${'word '.repeat(400)}`)
    // An edit shows words that are on disk for longer than 200 ms.
    await discord.until(() => (discord.posts(dm)[1]?.times.length ?? 0) > 1)
    first.kill(signal)
    expect((await first.ended).code).toBe(code)
    const second = await it.run()
    discord.say(dm, discord.owner, 'What is my name?')
    const post = await discord.until(() => discord.posts(dm)[2])
    await discord.until(() => post.text.includes('Ada'))
    second.kill('SIGTERM')
    await second.ended
    await using store = await storeOf(here)
    const { conversation, branch } = (await store.findByKey('discord:dm:1'))!
    const turns = (await store.listTurns(conversation.id)).items
    expect(turns.map(({ status }) => status)).toEqual(['complete', 'interrupted', 'complete'])
    const path = (await pathOf(store, branch.head!)).map(textOf)
    expect(path).toHaveLength(6)
    expect(path[3]).toMatch(/^word( word)*/)
    expect(path[3]!.length).toBeLessThan(2_000)
  })
  it('reports with --check what is missing, and the link that invites the bot', async () => {
    await using it = await world()
    const good = await it.here.skein(['discord', '--check'])
    expect(good.code).toBe(0)
    expect(good.stdout.split('\n').map(line => line.slice(2, 13).trim())).toEqual([
      ...['token', 'intents', 'owner', 'servers', 'permissions', 'invitation', ''],
    ])
    expect(good.stdout).toMatch(/client_id=900&scope=bot\+applications\.commands&permissions=309237713920/)
    await using poor = await world({ servers: [server], hasContentIntent: false, permissions: '1024' })
    const bad = await poor.here.skein(['discord', '--check', '--json'])
    expect(bad.code).toBe(1)
    const { checks } = JSON.parse(bad.stdout) as {
      checks: { name: string; status: string; message: string }[]
    }
    expect(checks.filter(({ status }) => status === 'failed')).toEqual([
      { name: 'intents', status: 'failed', message: expect.stringContaining('Message Content is off') },
      { name: 'permissions', status: 'failed', message: expect.stringContaining('Lab lacks Send Messages,') },
    ])
  })
  it('says in one line that the token is missing or refused, or that an intent is off, and exits with 1', async () => {
    await using it = await world()
    const { here, discord } = it
    const none = await here.skein(['discord'], { env: { DISCORD_TOKEN: '' } })
    expect([none.code, none.stdout]).toEqual([1, ''])
    expect(none.stderr).toMatch(/^skein: there is no Discord token\. .*DISCORD_TOKEN.*\n$/)
    const wrong = 'MTE3.wrong.token-which-stays-hidden'
    for (const args of [['discord'], ['discord', '--check'], ['discord', '--debug']]) {
      const refused = await here.skein(args, { env: { DISCORD_TOKEN: wrong } })
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain('Discord refuses the token')
      expect(refused.stdout + refused.stderr).not.toContain('which-stays-hidden')
    }
    discord.gateway.refuseWith = 4014
    const off = await here.skein(['discord'])
    expect(off.code).toBe(1)
    expect(off.stderr).toContain('Message Content intent is off')
  })
  it('names the command that installs discord.js if it is missing', async () => {
    using here = home()
    const hide = `import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) {
  if (name !== 'discord.js') return next(name, context)
  throw Object.assign(new Error('Cannot find package discord.js'), { code: 'ERR_MODULE_NOT_FOUND' })
} })`
    const NODE_OPTIONS = `--import "data:text/javascript,${encodeURIComponent(hide)}"`
    const { code, stderr } = await here.skein(['discord'], { env: { NODE_OPTIONS } })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^skein: discord\.js is not installed\. npm install discord\.js@14\n$/)
  })
  it('shows the token neither in config nor in doctor, and names the line of a wrong setting', async () => {
    using here = home()
    const token = 'MTE3.from.the-file-and-secret'
    const own = join(here.env.XDG_CONFIG_HOME!, 'skein')
    mkdirSync(own)
    writeFileSync(join(own, 'skein.yaml'), `discord:\n  token: ${token}\n  on_delete: erase\n`)
    for (const args of [['config'], ['config', '--json'], ['doctor'], ['doctor', '--json']]) {
      const { stdout, stderr } = await here.skein(args)
      expect(stdout + stderr).not.toContain('secret')
      expect(stdout).toMatch(/discord.*set/)
    }
    writeFileSync(join(here.cwd, 'skein.yaml'), 'discord:\n  on_delete: forget\n')
    const { code, stderr } = await here.skein(['discord'])
    expect(code).toBe(2)
    expect(stderr).toContain('./skein.yaml:2 on_delete: "forget" is none of keep, erase')
  })
})
