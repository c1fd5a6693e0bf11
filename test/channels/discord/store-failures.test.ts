import { describe, expect, it } from 'vitest'
import { lockFile } from '../../support/lock-file.ts'
import { ada, general, startBot } from './bot.ts'

const mention = '<@900> '

describe('a store that does not answer', () => {
  it('is one line: a new place says that nothing was stored, a known one answers and stores it later', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord } = it
    const dm = discord.dm(ada)
    discord.say(dm, ada, 'My name is Ada')
    await discord.until(() => discord.posts(dm)[0])
    await it.bot.channel.idle()
    const lock = await lockFile(it.file)
    // At the same time: the store waits 5 s for the lock.
    discord.say(general, ada, `${mention}Is anyone there?`)
    discord.say(dm, ada, 'What is my name?')
    const refused = await discord.until(() => discord.posts(general)[0])
    expect(refused.text).toBe('⚠ The store cannot be reached. Nothing was stored: send it again later.')
    const post = await discord.until(() => discord.posts(dm)[1])
    await discord.until(() => /The store does not answer\. Your message waits in memory/.test(post.text))
    await lock.release()
    await discord.until(() => post.text.includes('Ada'))
    await it.bot.channel.idle()
    // The answer follows, and the line makes room for what is true now.
    expect(post.text).toBe('Your name is Ada.\n\n-# The store is back, and everything is stored.')
    const kept = async () => (await it.texts(`discord:dm:${ada.id}`)).filter((_, i) => i % 2 === 0)
    while ((await kept()).length < 2) await new Promise(resolve => setTimeout(resolve, 10))
    expect(await kept()).toEqual(['My name is Ada', 'What is my name?'])
    expect(await it.texts(`discord:channel:${general.id}`)).toEqual([])
  })
})
