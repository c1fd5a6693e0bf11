import { describe, expect, it } from 'vitest'
import type { LoopbackChannel } from '../../support/discord/loopback-discord.ts'
import { ada, general, startBot, wordsIn } from './bot.ts'

const mention = '<@900> '

/** An answer with fences inside fences, of at least this many characters. */
function nestedAnswer(length: number): string {
  let text = ''
  for (let n = 1; text.length < length; n++) {
    const inner = `\`\`\`ts\nconst value${n} = ${n}\n\`\`\``
    text += `Part ${n} says 😀 something.\n\n\`\`\`\`md\n# ${n}\n${inner}\n${'word '.repeat(60)}\n\`\`\`\`\n\n`
  }
  return text
}

describe('an answer in Discord', () => {
  it('of 20,000 characters with nested fences arrives whole, within the rate limits', async () => {
    const answer = nestedAnswer(20_000)
    await using it = await startBot({ editMs: 200, script: [answer] })
    const { discord } = it
    discord.say(general, ada, `${mention}Tell me everything`)
    await discord.until(() => discord.posts(general).length > 0)
    await it.bot.channel.idle()
    const posts = discord.posts(general)
    expect(posts.length).toBeGreaterThan(9)
    for (const { text } of posts) {
      expect(text.length).toBeLessThanOrEqual(2_000)
      expect(text.isWellFormed()).toBe(true)
    }
    const seen = posts.map(({ text }) => text).join('\n')
    for (let n = 1; answer.includes(`Part ${n} `); n++) {
      expect(seen).toContain(`Part ${n} says 😀 something.`)
      expect(seen).toContain(`const value${n} = ${n}`)
    }
    expect(seen.match(/\bword\b/g)).toHaveLength(answer.match(/\bword\b/g)!.length)
    // Only the first message is a reply, and the client waits instead of being refused.
    expect(posts.slice(1).map(({ replyTo }) => replyTo)).toEqual(posts.slice(1).map(() => null))
    expect(discord.refused).toBe(0)
    expect((await it.texts(`discord:channel:${general.id}`))[1]).toBe(answer)
  })
  it('streams by edits, one at a time, with a pause between them and the newest text', async () => {
    const words = Array.from({ length: 30 }, (_, n) => `w${n}`)
    await using it = await startBot({
      editMs: 150,
      script: [{ text: words.join(' '), delayMs: 20 }],
      limit: { requests: 100, periodMs: 1_000 },
    })
    const { discord } = it
    discord.editDelayMs = 60
    discord.say(general, ada, `${mention}Count`)
    const post = await discord.until(() => discord.posts(general)[0])
    expect(discord.typing).toEqual([general.id])
    await it.bot.channel.idle()
    expect(post.text).toBe(words.join(' '))
    expect(post.times.length).toBeGreaterThan(1)
    expect(post.times.length).toBeLessThan(10)
    const gaps = post.times.slice(1).map((at, i) => at - post.times[i]!)
    // A timer may fire a millisecond early.
    for (const gap of gaps) expect(gap).toBeGreaterThan(145)
  })
  it('is sent although the message that it answers is gone', async () => {
    const gate = Promise.withResolvers<void>()
    await using it = await startBot({
      editMs: 10,
      script: [{ text: 'Still here', gate: () => gate.promise }],
    })
    const { discord } = it
    const asked = discord.say(general, ada, `${mention}Answer me`)
    await discord.until(() => it.requests.length === 1)
    discord.remove(general, asked)
    gate.resolve()
    const post = await discord.until(() => discord.posts(general)[0])
    await it.bot.channel.idle()
    expect([post.text, post.replyTo]).toEqual(['Still here', null])
    expect(await it.texts(`discord:channel:${general.id}`)).toEqual(['Answer me', 'Still here'])
  })
  it('is stored whole although a person deletes it while it grows', async () => {
    const gate = Promise.withResolvers<void>()
    const text = 'one two three'
    const script = [{ text, gate: (n: number) => (n === 1 ? gate.promise : Promise.resolve()) }]
    await using it = await startBot({ editMs: 10, script })
    const { discord } = it
    discord.say(general, ada, `${mention}Count`)
    const post = await discord.until(() => discord.posts(general)[0])
    discord.remove(general, post.id)
    gate.resolve()
    await it.bot.channel.idle()
    expect(discord.posts(general)).toHaveLength(1)
    expect((await it.texts(`discord:channel:${general.id}`))[1]).toBe(text)
    expect(it.problems).toEqual([])
  })
  it.each([
    [
      { fail: 401, message: 'bad key sk-abcdef123456' },
      /^⚠ The model failed: .*\[key\].* Your message is stored/,
    ],
    [{ text: 'Half an', breakAfter: 1 }, /^Half\s+⚠ The model failed: .* Your message and the answer so far/],
  ])('that fails is one line that says what was kept: %o', async (reply, expected) => {
    await using it = await startBot({ editMs: 10, script: [reply] })
    const { discord } = it
    discord.say(general, ada, `${mention}Will it work?`)
    await discord.until(() => discord.posts(general)[0])
    await it.bot.channel.idle()
    const [post] = discord.posts(general)
    expect(post!.text).toMatch(expected)
    expect(post!.text).not.toContain('sk-abcdef')
    expect((await it.texts(`discord:channel:${general.id}`))[0]).toBe('Will it work?')
    // The next message continues with it.
    discord.say(general, ada, `${mention}Again`)
    await discord.until(() => discord.posts(general)[1])
    await it.bot.channel.idle()
    expect(wordsIn(it.requests.at(-1)!)).toContain('Will it work?')
  })
})

describe('the words of a person', () => {
  it('are stored as they are, with the author beside them, before the model is called (S0-33, S0-34)', async () => {
    const gate = Promise.withResolvers<void>()
    await using it = await startBot({ editMs: 10, script: [{ text: 'Yes', gate: () => gate.promise }] })
    const { discord, store } = it
    const id = discord.say(general, ada, `${mention}Is it stored?`)
    await discord.until(() => it.requests.length === 1)
    const found = await store.findByKey(`discord:channel:${general.id}`)
    const [message] = (await store.listMessages({ conversationId: found!.conversation.id })).items
    expect(message!.content).toEqual([{ type: 'text', text: 'Is it stored?' }])
    expect(message!.metadata).toEqual({ author: { id: '42', name: 'Ada' }, discord: { message: id } })
    const said = it.requests[0]!.messages.find(({ role }) => role === 'user')!
    expect(said.content).toEqual([{ type: 'text', text: '[speaker "Ada", id 42]\nIs it stored?' }])
    gate.resolve()
    await it.bot.channel.idle()
    expect((await store.findTurn(found!.conversation.id, `discord:${id}`))!.status).toBe('complete')
  })
  it('come with images and text files; larger and other files are named', async () => {
    await using it = await startBot({ editMs: 10 })
    const { discord, store } = it
    const dm = discord.dm(ada)
    const file = (name: string, mime: string, data: Buffer) => ({ name, mime, data })
    discord.say(dm, ada, 'Look', {
      attachments: [
        file('a.png', 'image/png', Buffer.from('not really a picture')),
        file('notes.py', 'application/octet-stream', Buffer.from('print(1)')),
        file('huge.txt', 'text/plain', Buffer.alloc(600_000, 'x')),
        file('film.mp4', 'video/mp4', Buffer.from('…')),
      ],
    })
    await discord.until(() => discord.posts(dm)[0])
    await it.bot.channel.idle()
    const found = await store.findByKey(`discord:dm:${ada.id}`)
    const { items } = await store.listMessages({ conversationId: found!.conversation.id, roles: ['user'] })
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    expect(items[0]!.content).toEqual([
      { type: 'text', text: 'Look' },
      { type: 'image', mime: 'image/png', name: 'a.png', data: base64('not really a picture') },
      { type: 'file', mime: 'text/plain', name: 'notes.py', data: base64('print(1)') },
      {
        type: 'file',
        mime: 'text/plain',
        name: 'huge.txt',
        url: 'attachment:huge.txt',
        metadata: { bytes: 600_000, not_read: expect.any(String) },
      },
      {
        type: 'file',
        mime: 'video/mp4',
        name: 'film.mp4',
        url: 'attachment:film.mp4',
        metadata: { bytes: 3, not_read: expect.any(String) },
      },
    ])
  })
  it('of edited and deleted messages leave events; on_delete: erase erases them', async () => {
    await using it = await startBot({ editMs: 10, settings: { onDelete: 'erase' } })
    const { discord, store } = it
    const dm = discord.dm(ada)
    const ids: string[] = []
    for (const [place, words] of [
      [dm, 'The password is swordfish'],
      [general, `${mention}Here it is swordfish, too`],
    ] as [LoopbackChannel, string][]) {
      ids.push(discord.say(place, ada, words))
      await discord.until(() => discord.posts(place)[0])
    }
    await it.bot.channel.idle()
    for (const [i, place] of [dm, general].entries()) {
      discord.edit(ids[i]!, 'The password is gone')
      discord.remove(place, ids[i]!)
    }
    for (const key of [`discord:dm:${ada.id}`, `discord:channel:${general.id}`]) {
      const { conversation } = (await store.findByKey(key))!
      const events = async () =>
        (await store.listEvents(conversation.id, { types: ['channel_edit', 'channel_delete'] })).items
      while ((await events()).length < 2) await new Promise(resolve => setTimeout(resolve, 10))
      expect((await events()).map(({ type }) => type)).toEqual(['channel_edit', 'channel_delete'])
      await it.bot.channel.idle()
      const { items } = await store.listMessages({ conversationId: conversation.id, roles: ['user'] })
      expect(items.map(({ erased }) => erased?.reason)).toEqual(['deleted in Discord'])
    }
    expect((await store.search('swordfish')).items.filter(({ message }) => message.role === 'user')).toEqual(
      [],
    )
  })
})
