import { describe, expect, it } from 'vitest'
import { withExpiry } from '../../../src/config/expiry.ts'
import { pathOf } from '../../../src/core/path.ts'
import { ada, eve, general, secret, server, startBot } from './bot.ts'

const mention = '<@900> '

describe('the conversations of a bot in Discord', () => {
  it('are one for each direct message, channel and thread (S0-3, S0-15, S0-16, S0-17, S0-47)', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord, store } = it
    const dm = discord.dm(ada)
    const thread = discord.thread(general, 'Plans', { isJoined: true })
    discord.say(dm, ada, 'In the direct message')
    discord.say(general, ada, `${mention}In the channel`)
    discord.say(thread, ada, 'In the thread')
    for (const place of [dm, general, thread]) await discord.until(() => discord.posts(place)[0])
    await it.bot.channel.idle()
    expect((await it.texts(`discord:dm:${ada.id}`))[0]).toBe('In the direct message')
    expect((await it.texts(`discord:channel:${general.id}`))[0]).toBe('In the channel')
    expect((await it.texts(`discord:thread:${thread.id}`))[0]).toBe('In the thread')
    const { items } = await store.listConversations({ channel: 'discord' })
    expect(items).toHaveLength(3)
    expect(items.map(({ directory }) => directory)).toEqual([null, null, null])
    for (const request of it.requests) expect(request.messages.filter(m => m.role === 'user')).toHaveLength(1)
  })
  it('start empty in a thread, without the words of its channel (S0-54)', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord } = it
    const asked = discord.say(general, ada, `${mention}My name is Ada`)
    await discord.until(() => discord.posts(general)[0])
    const thread = discord.thread(general, 'More', { on: asked, isJoined: true })
    discord.say(thread, ada, 'What is my name?')
    await discord.until(() => discord.posts(thread)[0])
    await it.bot.channel.idle()
    expect(JSON.stringify(it.requests[1])).not.toContain('My name is')
  })
  it('branch off at the message of the thread with thread_context: inherit, and copy nothing', async () => {
    await using it = await startBot({ editMs: 10, settings: { threadContext: 'inherit' } })
    const { discord, store } = it
    const first = discord.say(general, ada, `${mention}My name is Ada`)
    await discord.until(() => discord.posts(general)[0])
    discord.say(general, ada, `${mention}My dog is Rex`)
    await discord.until(() => discord.posts(general)[1])
    await it.bot.channel.idle()
    const channel = await store.findByKey(`discord:channel:${general.id}`)
    const path = await pathOf(store, channel!.branch.head!)
    // On a question, on an answer, and on a message that the bot does not know.
    const answer = discord.posts(general)[0]!.id
    const unrelated = discord.say(general, ada, 'Not a question to the bot')
    const starts = [
      { on: first, at: path[0]!.id, before: 1 },
      { on: answer, at: path[1]!.id, before: 2 },
      { on: unrelated, at: path[3]!.id, before: 4 },
    ]
    for (const { on, at, before } of starts) {
      const stored = (await store.getConversation(channel!.conversation.id)).messages
      const thread = discord.thread(general, 'More', { on, isJoined: true })
      discord.say(thread, ada, 'What is my name?')
      await discord.until(() => discord.posts(thread)[0])
      await it.bot.channel.idle()
      const found = await store.findByKey(`discord:thread:${thread.id}`)
      expect(found!.conversation.id).toBe(channel!.conversation.id)
      const own = await pathOf(store, found!.branch.head!)
      expect(own[before - 1]!.id).toBe(at)
      expect(own).toHaveLength(before + 2)
      expect((await store.getConversation(channel!.conversation.id)).messages).toBe(stored + 2)
      expect(discord.posts(thread)[0]!.text).toContain('Ada')
    }
  })
  it('do not inherit in a private thread', async () => {
    await using it = await startBot({ editMs: 10, settings: { threadContext: 'inherit' } })
    const { discord, store } = it
    discord.say(general, ada, `${mention}My name is Ada`)
    await discord.until(() => discord.posts(general)[0])
    const thread = discord.thread(general, 'Hidden', { isPrivate: true, isJoined: true })
    discord.say(thread, ada, 'What is my name?')
    await discord.until(() => discord.posts(thread)[0])
    const [own, channel] = await Promise.all(
      [`discord:thread:${thread.id}`, `discord:channel:${general.id}`].map(key => store.findByKey(key)),
    )
    expect(own!.conversation.id).not.toBe(channel!.conversation.id)
  })
  it('end after channels.discord.expiration: the next message begins a new one, the old one stays (S0-53)', async () => {
    const expiry = { channels: { discord: { expirationMs: 1 } }, conversation: { sessionExpirationMs: 1 } }
    await using it = await startBot({ editMs: 10, store: store => withExpiry(store, async () => expiry) })
    const { discord, store } = it
    const dm = discord.dm(ada)
    for (const [n, words] of ['My name is Ada', 'What is my name?'].entries()) {
      discord.say(dm, ada, words)
      await discord.until(() => discord.posts(dm)[n])
      await it.bot.channel.idle()
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    expect(JSON.stringify(it.requests[1])).not.toContain('My name is')
    expect(
      (await store.listConversations({ channel: 'discord' })).items.map(({ messages }) => messages),
    ).toEqual([2, 2])
  })
  it('keep a message where it arrived, also if /new follows before its answer', async () => {
    const gate = Promise.withResolvers<void>()
    const script = (_: unknown, call: number) =>
      call === 0 ? { text: 'The first answer', gate: () => gate.promise } : null
    await using it = await startBot({ editMs: 10, script })
    const { discord, store } = it
    const dm = discord.dm(ada)
    discord.say(dm, ada, 'one')
    discord.say(dm, ada, 'two')
    await discord.until(() => it.requests.length === 1)
    const old = (await store.findByKey(`discord:dm:${ada.id}`))!
    const id = discord.command(dm, ada, 'new')
    await discord.until(() => discord.reply(id)?.text)
    discord.say(dm, ada, 'three')
    gate.resolve()
    await discord.until(() => discord.posts(dm).length === 3)
    await it.bot.channel.idle()
    const head = (await store.getBranch(old.branch)).head!
    const before = (await pathOf(store, head)).filter(({ role }) => role === 'user')
    expect(before.map(({ content }) => (content[0] as { text: string }).text)).toEqual(['one', 'two'])
    expect((await it.texts(`discord:dm:${ada.id}`))[0]).toBe('three')
  })
})

describe('access to the bot', () => {
  it('is only for the owner without configuration', async () => {
    const allow = { servers: [], channels: [], people: [] }
    await using it = await startBot({ editMs: 10, settings: { allow } })
    const { discord } = it
    const others = discord.dm(ada)
    discord.say(others, ada, 'hello')
    discord.say(general, ada, `${mention}hello`)
    const own = discord.dm(discord.owner)
    discord.say(own, discord.owner, 'hello')
    discord.say(general, discord.owner, `${mention}hello`)
    await discord.until(() => discord.posts(own)[0] && discord.posts(general)[0])
    await it.bot.channel.idle()
    expect(discord.posts(others)).toEqual([])
    expect(discord.posts(general)).toHaveLength(1)
    expect(it.requests).toHaveLength(2)
    const refused = discord.command(general, ada, 'history')
    expect(await discord.until(() => discord.reply(refused)?.text)).toBe('You may not use this bot here.')
  })
  it('is for listed servers, channels and people; in servers when the bot is addressed', async () => {
    const allow = { servers: [], channels: [general.id], people: [eve.id] }
    await using it = await startBot({ editMs: 10, settings: { allow } })
    const { discord } = it
    discord.say(general, ada, 'Not for the bot')
    discord.say(secret, ada, `${mention}not in this channel`)
    discord.say(discord.dm(ada), ada, 'not in a direct message')
    discord.say(general, { ...ada, bot: true }, `${mention}I am a bot, too`)
    const foreign = discord.thread(general, 'Without the bot')
    discord.say(foreign, ada, 'Not for the bot either')
    const question = discord.say(general, ada, `${mention}A mention`)
    const answer = await discord.until(() => discord.posts(general)[0])
    expect(answer.replyTo).toBe(question)
    discord.say(general, ada, 'A reply', { replyTo: { id: answer.id, author: discord.bot } })
    discord.say(secret, eve, `${mention}A listed person`)
    discord.say(foreign, ada, `${mention}A mention in a thread`)
    await discord.until(() => discord.posts(foreign)[0])
    discord.say(foreign, ada, 'And on, without a mention')
    await discord.until(
      () => discord.posts(foreign)[1] && discord.posts(general)[1] && discord.posts(secret)[0],
    )
    await it.bot.channel.idle()
    const said = it.requests.map(({ messages }) => JSON.stringify(messages.at(-1)))
    expect(said).toHaveLength(5)
    expect(said.join()).not.toMatch(/not in|for the bot|I am a bot/i)
    // The bot pings no one.
    for (const post of [...discord.posts(general), ...discord.posts(secret)])
      expect(post.request.allowed_mentions).toEqual({ parse: [], replied_user: false })
  })
  it('lets a listed server in, and not its people in direct messages', async () => {
    await using it = await startBot({
      editMs: 10,
      settings: { allow: { servers: [server.id], channels: [], people: [] } },
    })
    const { discord } = it
    discord.say(discord.dm(ada), ada, 'hello')
    discord.say(secret, ada, `${mention}hello`)
    await discord.until(() => discord.posts(secret)[0])
    await it.bot.channel.idle()
    expect(it.requests).toHaveLength(1)
  })
})
