import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../src/core/path.ts'
import { type LoopbackChannel, startLoopbackDiscord } from '../../support/discord/loopback-discord.ts'
import { start, storeOf } from '../running.ts'
import { type Home, home } from '../skein.ts'

const mention = '<@900> '
const channel = (id: string, serverId: string, isPrivate = false): LoopbackChannel => ({
  ...{ id, serverId, isPrivate, name: `channel-${id}`, parentId: null, userId: null },
})
const lab = { id: '500', name: 'Lab' }
const shop = { id: '700', name: 'Shop' }
const places = {
  public: channel('510', lab.id),
  secret: channel('511', lab.id, true),
  other: channel('710', shop.id),
}

/** A running bot with a configuration. */
async function botWith(here: Home, yaml: string) {
  const discord = await startLoopbackDiscord({ servers: [lab, shop], channels: Object.values(places) })
  Object.assign(here.env, { DISCORD_TOKEN: discord.token, SKEIN_DISCORD_API: discord.api })
  const folder = join(here.env.XDG_CONFIG_HOME!, 'skein')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'skein.yaml'), yaml)
  const running = start(here, ['discord'])
  await running.says('answers in Discord')
  const store = await storeOf(here)
  const dm = discord.dm(discord.owner)
  return {
    dm,
    /** Says something as the owner. Returns the messages of the turn as JSON: call, result and answer. */
    async say(place: LoopbackChannel, words: string): Promise<string> {
      const id = discord.say(place, discord.owner, place === dm ? words : mention + words)
      for (;;) {
        const found = await store.findByKey(keyOf(place))
        const turn = found && (await store.findTurn(found.conversation.id, `discord:${id}`))
        if (turn?.status === 'complete') {
          const path = await pathOf(store, found!.branch.head!)
          const asked = path.findLastIndex(({ role }) => role === 'user')
          return JSON.stringify(path.slice(asked + 1).map(({ content }) => content))
        }
        await pause(10)
      }
    },
    idOf: async (place: LoopbackChannel) => (await store.findByKey(keyOf(place)))!.conversation.id,
    async [Symbol.asyncDispose]() {
      running.kill('SIGTERM')
      await running.ended
      await store.close()
      await discord.close()
    },
  }

  function keyOf({ id }: LoopbackChannel): string {
    return id === dm.id ? `discord:dm:${discord.owner.id}` : `discord:channel:${id}`
  }
}

describe('the tools of a bot', () => {
  it('recall only conversations of the place: never another server, a direct message or a private channel', async () => {
    using here = home()
    await using bot = await botWith(here, 'tools:\n  recall: on\n')
    const { dm } = bot
    const said = { direct: dm, public: places.public, private: places.secret, other: places.other }
    const each = <T>(work: (place: LoopbackChannel, name: string) => Promise<T>) =>
      Promise.all(Object.entries(said).map(([name, place]) => work(place, name)))
    await each((place, name) => bot.say(place, `swordfish in the ${name} place`))
    const found = await each(async place => {
      const turn = await bot.say(place, '/tool search_conversations {"query": "swordfish in"}')
      return Object.keys(said).filter(name => turn.includes(`swordfish in the ${name}`))
    })
    // A private channel finds itself, and what everyone in its server can see.
    expect(found).toEqual([['direct'], ['public'], ['public', 'private'], ['other']])
    // The id of another place does not lead out either.
    const id = await bot.idOf(places.secret)
    const read = await each(place => bot.say(place, `/tool read_conversation {"id": "${id}"}`))
    for (const [i, turn] of read.entries()) {
      const isOwn = i === 2
      expect(turn.includes('there is no id')).toBe(!isOwn)
      expect(turn.includes('swordfish in the private place')).toBe(isOwn)
    }
  })

  it('are only those that are read-only or named in tools.allow', async () => {
    using here = home()
    const server = join(import.meta.dirname, '../../support/mcp-stdio.ts')
    const program = { command: process.execPath, args: [server] }
    const config = { mcp: { files: program }, tools: { allow: ['files_point'] } }
    await using bot = await botWith(here, JSON.stringify(config))
    // `echo` declares itself read-only, `point` is allowed by name, `pid` is neither.
    expect(await bot.say(bot.dm, '/tool files_echo {"text": "said again"}')).toMatch(/"output":"said again"/)
    expect(await bot.say(bot.dm, '/tool files_point {}')).toContain('"output"')
    const refused = await bot.say(bot.dm, '/tool files_pid {}')
    expect(refused).toContain('these are offered: files_echo, files_point')
    expect(refused).not.toContain('"output"')
  })
})
