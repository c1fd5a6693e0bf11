import { describe, expect, it } from 'vitest'
import { ada, general, startBot } from './bot.ts'

const mention = '<@900> '

describe('the connection to Discord', () => {
  it('resumes after a cut, without losing a message and without answering one twice', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord } = it
    const dm = discord.dm(ada)
    discord.say(dm, ada, 'before')
    await discord.until(() => discord.posts(dm)[0])
    discord.gateway.cut()
    await discord.until(() => !discord.gateway.isConnected)
    discord.say(dm, ada, 'during')
    await discord.until(() => discord.posts(dm)[1])
    discord.say(dm, ada, 'after')
    await discord.until(() => discord.posts(dm)[2])
    await it.bot.channel.idle()
    expect(discord.gateway.counts).toEqual({ identified: 1, resumed: 1 })
    const texts = await it.texts(`discord:dm:${ada.id}`)
    expect(texts.filter((_, i) => i % 2 === 0)).toEqual(['before', 'during', 'after'])
  })
  // The documented codes after which a client may connect again.
  it.concurrent.each([4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009])(
    'continues after a close with %i',
    async code => {
      await using it = await startBot({ editMs: 10 })
      const { discord } = it
      const dm = discord.dm(ada)
      discord.gateway.close(code)
      const { counts } = discord.gateway
      await discord.until(() => counts.resumed + counts.identified === 2 && discord.gateway.isConnected)
      discord.say(dm, ada, 'Are you there?')
      await discord.until(() => discord.posts(dm)[0])
      await it.bot.channel.idle()
      expect(discord.posts(dm)).toHaveLength(1)
    },
  )
  // The documented codes after which it may not.
  it.concurrent.each([
    [4004, /refuses the token/],
    [4010, /shard/],
    [4011, /too many servers/],
    [4012, /version of its API/],
    [4013, /intents/],
    [4014, /Message Content intent is off/],
  ])('ends with one line after a close with %i', async (code, line) => {
    await using it = await startBot({ editMs: 10 })
    it.discord.gateway.close(code)
    const error = await it.bot.failed.catch((failed: Error) => failed)
    expect(error.message).toMatch(line)
    expect(error.message).not.toContain('\n')
    expect(`${error.message} ${JSON.stringify(error)}`).not.toContain(it.discord.token)
  })
  it('makes one turn of a message that is delivered twice, out of order and across a restart', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord, store } = it
    const dm = discord.dm(ada)
    const first = discord.say(dm, ada, 'first', { isHeld: true })
    const second = discord.say(dm, ada, 'second')
    discord.deliver(second)
    discord.deliver(first)
    discord.deliver(first)
    discord.deliver(second)
    await discord.until(() => discord.posts(dm).length === 2)
    await it.bot.channel.idle()
    await it.restart()
    discord.deliver(second)
    discord.deliver(first)
    const last = discord.say(dm, ada, 'third')
    discord.deliver(last)
    await discord.until(() => discord.posts(dm).length === 3)
    await it.bot.channel.idle()
    // Also a message that is older than the conversation, which /new has begun.
    const command = discord.command(dm, ada, 'new')
    await discord.until(() => discord.reply(command)?.text)
    await it.restart()
    discord.deliver(last)
    discord.say(dm, ada, 'fourth')
    await discord.until(() => discord.posts(dm).length === 4)
    await it.bot.channel.idle()
    expect(it.requests).toHaveLength(4)
    expect(discord.posts(dm)).toHaveLength(4)
    const { items } = await store.listConversations({ channel: 'discord' })
    const turns = await Promise.all(items.map(({ id }) => store.listTurns(id)))
    expect(turns.flatMap(page => page.items.map(({ key }) => key))).toHaveLength(4)
  })
  it('registers its commands, and stores waiting messages when it is closed', async () => {
    const gate = Promise.withResolvers<void>()
    const script = [{ text: 'One two', gate: (n: number) => (n === 0 ? Promise.resolve() : gate.promise) }]
    await using it = await startBot({ editMs: 10, script })
    const { discord, store } = it
    expect(discord.registered.map(({ name }) => name)).toEqual([
      ...['new', 'stop', 'clear', 'history', 'search', 'fork', 'model'],
    ])
    discord.say(general, ada, `${mention}first`)
    discord.say(general, ada, `${mention}second`)
    const post = await discord.until(() => discord.posts(general)[0])
    await it.bot.close()
    expect(post.text).toMatch(/^One\s+-# Interrupted: the bot is shutting down/)
    const found = await store.findByKey(`discord:channel:${general.id}`)
    const turns = (await store.listTurns(found!.conversation.id)).items
    expect(turns.map(({ status }) => status)).toEqual(['interrupted', 'interrupted'])
    expect(await it.texts(`discord:channel:${general.id}`)).toEqual(['first', 'One', 'second'])
  })
})
