import { describe, expect, it } from 'vitest'
import { lockFile } from '../../support/lock-file.ts'
import { startOwnPostgres } from '../../support/postgres.ts'
import { ada, general, startBot } from './bot.ts'

const mention = '<@900> '

describe('a store that does not answer', () => {
  it('is one line in a new place, where nothing was stored', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord } = it
    const lock = await lockFile(it.file)
    discord.say(general, ada, `${mention}Is anyone there?`)
    const refused = await discord.until(() => discord.posts(general)[0])
    expect(refused.text).toBe('⚠ The store cannot be reached. Nothing was stored: send it again later.')
    await lock.release()
    await it.bot.channel.idle()
    expect(await it.texts(`discord:channel:${general.id}`)).toEqual([])
  })

  it('is one line in a known place, where the message is answered and stored later', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord } = it
    const dm = discord.dm(ada)
    discord.say(dm, ada, 'My name is Ada')
    await discord.until(() => discord.posts(dm)[0])
    await it.bot.channel.idle()
    const lock = await lockFile(it.file)
    discord.say(dm, ada, 'What is my name?')
    const post = await discord.until(() => discord.posts(dm)[1])
    // After 2 s. Another line follows if nothing could be stored for 5 s after the answer.
    await discord.until(() => /The store does not answer\. Your message waits in memory/.test(post.text))
    await lock.release()
    await discord.until(() => post.text.includes('Ada'))
    await it.bot.channel.idle()
    // The answer follows, and the line makes room for what is true now.
    expect(post.text).toBe('Your name is Ada.\n\n-# The store is back, and everything is stored.')
    const kept = async () => (await it.texts(`discord:dm:${ada.id}`)).filter((_, i) => i % 2 === 0)
    await expect.poll(kept, { timeout: 10_000 }).toEqual(['My name is Ada', 'What is my name?'])
  })

  it('makes /search say what is not saved yet, and nothing of other places', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord } = it
    const dm = discord.dm(ada)
    discord.say(dm, ada, 'My name is Ada')
    await discord.until(() => discord.posts(dm)[0])
    await it.bot.channel.idle()
    const lock = await lockFile(it.file)
    discord.say(dm, ada, 'What is my name?')
    const post = await discord.until(() => discord.posts(dm)[1])
    // The turn has ended.
    await discord.until(() => post.text.includes('This exchange waits in memory'))
    const search = async (place: typeof dm, words: string) => {
      const command = discord.command(place, ada, 'search', { words })
      return discord.until(() => discord.reply(command)?.text)
    }
    const note = '2 messages are not saved yet: search again later.'
    expect(await search(dm, 'heron')).toBe(`Nothing was found. ${note}`)
    expect(await search(general, 'heron')).toBe('Nothing was found.')
    await lock.release()
    await discord.until(() => post.text.includes('everything is stored'))
    expect(await search(dm, 'heron')).toBe('Nothing was found.')
  })

  it('puts no words into the conversation that /new has ended, and disturbs no thread of others', async () => {
    const postgres = await startOwnPostgres()
    try {
      await using it = await startBot({ editMs: 10, db: postgres.url })
      const { discord, store } = it
      const dm = discord.dm(ada)
      const key = `discord:dm:${ada.id}`
      discord.say(dm, ada, 'My name is Ada')
      await discord.until(() => discord.posts(dm)[0])
      await it.bot.channel.idle()
      const former = (await store.findByKey(key))!
      const command = discord.command(dm, ada, 'new')
      await discord.until(() => discord.reply(command)?.text)
      await it.bot.channel.idle()
      const thread = discord.thread(general, 'Others', { isJoined: false })

      await postgres.away()
      discord.say(thread, ada, 'Not to the bot')
      discord.say(dm, ada, 'Keep this')
      const post = await discord.until(() => discord.posts(dm)[1])
      // The agent of the new conversation cannot read it: the words must not go into the former one.
      await discord.until(() => post.text.includes('Nothing was stored: send it again later.'))
      await postgres.back()
      discord.say(dm, ada, 'Keep this')
      await discord.until(() => discord.posts(dm)[2])
      await it.bot.channel.idle()
      expect((await it.texts(key))[0]).toBe('Keep this')
      expect((await store.getBranch(former.branch)).head).toBe(former.branch.head)
      expect(discord.posts(thread)).toEqual([])
    } finally {
      await postgres.stop()
    }
  })
})
