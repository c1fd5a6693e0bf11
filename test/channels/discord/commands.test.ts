import { describe, expect, it } from 'vitest'
import { scopeOfPlace } from '../../../src/channels/discord/place.ts'
import type { LoopbackChannel, LoopbackUser } from '../../support/discord/loopback-discord.ts'
import { unindexedStore } from '../../support/unindexed-store.ts'
import { ada, eve, general, secret, startBot, type TestBot } from './bot.ts'

const mention = '<@900> '

async function run(
  { discord }: TestBot,
  place: LoopbackChannel,
  user: LoopbackUser,
  name: string,
  options?: Record<string, string | number>,
) {
  const id = discord.command(place, user, name, options)
  return discord.until(() => (discord.reply(id)?.text ? discord.reply(id) : undefined))
}

async function say({ discord, bot }: TestBot, place: LoopbackChannel, user: LoopbackUser, text: string) {
  const before = discord.posts(place).length
  const id = discord.say(place, user, text)
  await discord.until(() => discord.posts(place).length > before)
  await bot.channel.idle()
  return id
}

describe('the slash commands', () => {
  it('/new starts a conversation without memory; the old one stays', async () => {
    await using it = await startBot({ editMs: 10 })
    const dm = it.discord.dm(ada)
    await say(it, dm, ada, 'My name is Ada')
    const old = await it.store.findByKey(`discord:dm:${ada.id}`)
    expect((await run(it, dm, ada, 'new')).isPrivate).toBe(false)
    await say(it, dm, ada, 'What is my name?')
    expect(JSON.stringify(it.requests.at(-1))).not.toContain('My name is')
    expect((await it.store.getConversation(old!.conversation.id)).messages).toBe(2)
    expect((await it.store.listConversations({ channel: 'discord' })).items).toHaveLength(2)
  })
  it('/stop ends the answer and keeps what arrived', async () => {
    const never = new Promise<void>(() => undefined)
    const script = [{ text: 'one two three', gate: (n: number) => (n < 2 ? Promise.resolve() : never) }]
    await using it = await startBot({ editMs: 10, script })
    const { discord } = it
    const dm = discord.dm(ada)
    discord.say(dm, ada, 'Count')
    const post = await discord.until(() => discord.posts(dm)[0])
    expect((await run(it, dm, ada, 'stop')).text).toBe('Stopped. What arrived is kept.')
    await it.bot.channel.idle()
    expect(post.text).toMatch(/^one two\s+-# Stopped/)
    expect(await it.texts(`discord:dm:${ada.id}`)).toEqual(['Count', 'one two'])
    expect((await run(it, dm, ada, 'stop')).text).toBe('No answer is running here.')
  })
  it('/clear asks first, and moves the conversation to the trash', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord, store } = it
    const dm = discord.dm(ada)
    await say(it, dm, ada, 'Forget this')
    const { conversation } = (await store.findByKey(`discord:dm:${ada.id}`))!
    const asked = await run(it, dm, ada, 'clear')
    expect([asked.isPrivate, asked.buttons.length]).toEqual([true, 1])
    expect((await store.getConversation(conversation.id)).trashedAt).toBeNull()
    const pressed = discord.press(dm, ada, asked.buttons[0]!)
    await discord.until(() => discord.reply(pressed)?.text)
    expect((await store.getConversation(conversation.id)).trashedAt).not.toBeNull()
    await say(it, dm, ada, 'And now?')
    expect(JSON.stringify(it.requests.at(-1))).not.toContain('Forget this')
    // A second press must not clear the new conversation.
    const again = discord.press(dm, ada, asked.buttons[0]!)
    expect((await discord.until(() => discord.reply(again)?.text))!).toMatch(/Nothing was changed/)
    expect(await it.texts(`discord:dm:${ada.id}`)).toHaveLength(2)
  })
  it('/clear sets the branch of a thread aside if its channel shares the conversation', async () => {
    await using it = await startBot({ editMs: 10, settings: { threadContext: 'inherit' } })
    const { discord, store } = it
    const first = await say(it, general, ada, `${mention}My name is Ada`)
    const thread = discord.thread(general, 'More', { on: first, isJoined: true })
    await say(it, thread, ada, 'In the thread')
    const { buttons } = await run(it, thread, ada, 'clear')
    const pressed = discord.press(thread, ada, buttons[0]!)
    await discord.until(() => discord.reply(pressed)?.text)
    const { conversation } = (await store.findByKey(`discord:channel:${general.id}`))!
    expect(conversation.trashedAt).toBeNull()
    await say(it, thread, ada, 'What is my name?')
    expect(JSON.stringify(it.requests.at(-1))).not.toContain('My name is')
  })
  it('/history shows the newest messages only to the person who asked', async () => {
    await using it = await startBot({ editMs: 10 })
    await say(it, general, ada, `${mention}The first question`)
    await say(it, general, eve, `${mention}Another *question*`)
    const shown = await run(it, general, ada, 'history', { count: 2 })
    expect(shown.isPrivate).toBe(true)
    expect(shown.text).toMatch(/Older messages.*\n\*\*Eve\*\*: Another \*question\*\n\*\*Bot\*\*: /)
    expect(shown.text).not.toContain('first')
  })
  it('/search finds only this server, and of it only channels that the person can see', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord } = it
    const [adas, eves] = [discord.dm(ada), discord.dm(eve)]
    await say(it, adas, ada, 'swordfish in the direct message of Ada')
    await say(it, eves, eve, 'swordfish in the direct message of Eve')
    await say(it, general, ada, `${mention}swordfish in the public channel`)
    await say(it, secret, ada, `${mention}swordfish in the private channel`)
    const find = async (place: LoopbackChannel, user: LoopbackUser, words = 'swordfish') => {
      const { text, isPrivate } = await run(it, place, user, 'search', { words })
      expect(isPrivate).toBe(true)
      return ['of Ada', 'of Eve', 'public', 'private'].filter(name => text.includes(name))
    }
    expect(await find(adas, ada)).toEqual(['of Ada'])
    expect(await find(eves, eve)).toEqual(['of Eve'])
    expect(await find(general, ada)).toEqual(['public'])
    // A person who writes in the private channel can see it.
    expect(await find(secret, ada)).toEqual(['public', 'private'])
    // The key of another place does not lead out.
    expect(await find(general, ada, `swordfish in:discord:dm:${eve.id}`)).toEqual([])
    expect((await run(it, general, ada, 'search', { words: '"' })).text).toMatch(/cannot be read/)
  })
  it('/search says how many messages were not searched', async () => {
    const place = { kind: 'dm', userId: ada.id } as const
    const metadata = { discord_scope: scopeOfPlace(place), discord_channel: null }
    await using store = await unindexedStore({ channel: 'discord', metadata })
    await using it = await startBot({ store: () => store })
    const find = async (words: string) => (await run(it, it.discord.dm(ada), ada, 'search', { words })).text
    const note = '100 messages are not in the search index yet: search again later.'
    expect(await find('heron')).toBe(`Nothing was found. ${note}`)
    expect((await find('message')).split('\n').at(-1)).toBe(`-# ${note}`)
    await store.indexSearch()
    expect(await find('heron')).toMatch(/the oldest heron$/)
  })
  it('/fork continues in a thread, or in place where there are no threads, and copies nothing', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord, store } = it
    await say(it, general, ada, `${mention}My name is Ada`)
    const { text } = await run(it, general, ada, 'fork', { name: 'Elsewhere' })
    const threadId = /<#(\d+)>/.exec(text)![1]!
    const thread = { ...general, id: threadId, parentId: general.id, name: 'Elsewhere' }
    await say(it, thread, ada, 'What is my name?')
    expect(discord.posts(thread)[0]!.text).toContain('Ada')
    const { conversation } = (await store.findByKey(`discord:thread:${threadId}`))!
    expect(conversation.id).toBe((await store.findByKey(`discord:channel:${general.id}`))!.conversation.id)
    const dm = discord.dm(ada)
    await say(it, dm, ada, 'My dog is Rex')
    expect((await run(it, dm, ada, 'fork')).text).toContain('main-2')
    await say(it, dm, ada, 'What is my dog?')
    const found = (await store.findByKey(`discord:dm:${ada.id}`))!
    expect([found.branch.name, found.conversation.messages]).toEqual(['main-2', 4])
  })
  it('/model shows and sets the model; others than the owner choose configured names', async () => {
    await using it = await startBot({ editMs: 10 })
    const dm = it.discord.dm(ada)
    expect((await run(it, dm, ada, 'model')).text).toContain('`scripted`')
    expect((await run(it, dm, ada, 'model', { name: 'expensive' })).text).toMatch(/configured names: fast/)
    expect((await run(it, dm, ada, 'model', { name: 'fast' })).text).toContain('`test/fast`')
    expect((await it.store.findByKey(`discord:dm:${ada.id}`))!.conversation.model).toBe('test/fast')
    const own = it.discord.dm(it.discord.owner)
    expect((await run(it, own, it.discord.owner, 'model', { name: 'any' })).text).toContain('`test/any`')
  })
})
