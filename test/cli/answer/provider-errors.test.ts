import { describe, expect, it, vi } from 'vitest'
import { textOf } from '../../../src/core/message.ts'
import { modelHome, models } from '../real-model.ts'
import { storeOf } from '../running.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 120_000 })

describe('an error of a provider', () => {
  it.each([
    [models.anthropic, 'ANTHROPIC_API_KEY'],
    [models.google, 'GEMINI_API_KEY'],
  ])('says which key to check (%s)', async (model, variable) => {
    await using here = await modelHome([{ status: 401, message: 'no such key' }], model)
    const { stderr, code } = await here.skein(['hello'])
    expect(code).toBe(1)
    expect(stderr).toContain(
      `skein: ${model}: the provider does not accept the key (401): no such key. Check ${variable}\n`,
    )
    expect(stderr).toMatch(/! your message is saved as [a-z2-7]{6}\. To ask again: skein chat, then Enter\n/)
    const { error } = JSON.parse((await here.skein(['--json', 'hello'])).stderr)
    expect(error).toMatchObject({ code: 'model_failed', hint: `Check ${variable}` })
  })

  it('asks whether Ollama is running', async () => {
    await using here = await modelHome(['ok'], models.ollama)
    await here.server.close()
    const { stderr } = await here.skein(['hello'])
    expect(stderr).toContain(
      `cannot be reached at ${here.server.url} (ECONNREFUSED), after 3 attempts. Is Ollama running? Start it: ollama serve\n`,
    )
    // Without a terminal, each retry is a line.
    expect(stderr).toMatch(/! ollama cannot be reached: trying again in \d+ ms, 2 tries left\n/)
    expect(stderr).toMatch(/! ollama cannot be reached: trying again in [\d.]+ m?s, 1 try left\n/)
  })

  it('counts down to the retry, and says how many are left', async () => {
    await using here = await modelHome([{ status: 429, retryAfter: 2 }, { status: 529 }, 'Finally.'])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('hello\r')
    await chat.seePassing(/\S anthropic limits the rate \(429\): trying again in \d s, 2 tries left/)
    await chat.seePassing(/\S anthropic is overloaded \(529\): trying again in 1 s, 1 try left/)
    await chat.seeNext('Finally.')
    await chat.seeNext(/› $/)
    // It counts down. A busy machine may skip a second.
    const seconds = [...chat.raw.matchAll(/again in (\d) s, 2 tries/g)].map(([, shown]) => Number(shown))
    expect(seconds).toEqual(seconds.toSorted((a, b) => b - a))
    expect(Math.max(...seconds)).toBeLessThanOrEqual(2)
    expect(chat.screen()).not.toContain('trying again')
  })

  it('says how long to wait if there are no tries left', async () => {
    await using here = await modelHome([{ status: 429, message: 'slow down', retryAfter: 90 }])
    const { stderr } = await here.skein(['hello'])
    expect(stderr).toContain(': too many requests (429): slow down. Try again in 90 s\n')
  })

  it('says that even one exchange is too long', async () => {
    await using here = await modelHome([{ overflow: { limit: 8_192, needed: 9_000 } }])
    const { stderr, code } = await here.skein(['hello'])
    expect(code).toBe(1)
    expect(stderr).toContain('say less at once, or take a model with a larger window')
  })
})

describe('a stream that dies', () => {
  const half = [{ text: 'The build is red because' }, { cut: 'socket' as const }]

  it('says under which id the partial answer is saved, and how to continue', async () => {
    await using here = await modelHome([{ parts: half }, 'a test fails.'])
    const { stdout, stderr, code } = await here.skein(['why?'])
    expect([stdout, code]).toEqual(['The build is red because\n', 1])
    const [, id] =
      /skein: anthropic\/claude-sonnet-5-5: the connection to anthropic was lost before the answer was complete\n! the partial answer is saved as ([a-z2-7]{6})\. Continue: skein -c \1 "continue"\n/.exec(
        stderr,
      ) ?? []
    expect(id, stderr).toBeDefined()
    {
      await using store = await storeOf(here)
      const [message] = await store.getMessages([(await store.resolve(id!)).message!])
      expect([textOf(message!), message!.metadata]).toEqual(['The build is red because', { failed: true }])
    }
    expect((await here.skein(['-c', id!, 'continue'])).stdout).toBe('a test fails.\n')
  })

  it('can be continued with Enter in a chat, also after a restart', async () => {
    await using here = await modelHome([{ parts: half }, { parts: half }, 'a test fails.'])
    using chat = terminal(here, ['chat'])
    // Nothing was used yet, so the bar is empty and there is no cost.
    await chat.see(/\nmain · sonnet-5\.5 · ─{16} 0% of 800k\n› $/)
    chat.type('why?\r')
    await chat.seeNext(/: the connection to anthropic was lost before\n {2}the answer was complete\n/)
    await chat.seeNext(/! the partial answer is saved as [a-z2-7]{6}: press Enter to continue it\n/)
    await chat.seeNext(/› $/)
    chat.type('\r')
    await chat.seeNext(/! the partial answer is saved as [a-z2-7]{6}: press Enter to continue it\n/)
    await chat.seeNext(/› $/)
    chat.type('\x04')
    expect(await chat.ended).toBe(0)

    using next = terminal(here, ['chat'])
    await next.see(/The build is red because\n! failed: press Enter to continue it\n/)
    await next.see(/› $/)
    next.type('\r')
    await next.seeNext('a test fails.')
    await next.seeNext(/› $/)
    next.type('\r') // Nothing is pending any more.
    await next.seeNext(/› $/)
    expect(here.server.requests).toHaveLength(3)
  })
})

describe('an interrupted answer', () => {
  it('is marked when the chat is resumed, after Ctrl+C and after kill -9', async () => {
    await using here = await modelHome([
      { parts: [{ text: ['One ', 'two ', 'three '] }, { hang: true }] },
      { parts: [{ text: ['Four ', 'five ', 'six '] }, { hang: true }] },
      'Seven.',
    ])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('count\r')
    await chat.seeNext('One two')
    chat.type('\x03')
    await chat.seeNext(
      /! stopped after \d+ s, saved as [a-z2-7]{6}\. Type to continue\. Ctrl\+C again to quit\./,
    )
    await chat.seeNext(/› $/)
    chat.type('\x03')
    await chat.ended

    using killed = terminal(here, ['chat'])
    await killed.see(/One two three *\n! interrupted: press Enter to continue it\n/)
    await killed.see(/› $/)
    killed.type('\r')
    await killed.seeNext('Four five')
    await savedDraft(here)
    killed.kill('SIGKILL')
    await killed.ended

    using again = terminal(here, ['chat'])
    await again.see(/Four five six *\n! interrupted: press Enter to continue it\n/)
    await again.see(/› $/)
    again.type('\r')
    await again.seeNext('Seven.')
  })
})

describe('prompts without an answer', () => {
  it('are counted after each failure, and named when they are sent along', async () => {
    const replies = [{ status: 400 }, { status: 400 }, { status: 400 }, 'All three.']
    await using here = await modelHome(replies)
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('one\r')
    await chat.seeNext('! your last message has no answer yet: press Enter to ask again\n')
    await chat.seeNext(/› $/)
    chat.type('two\r')
    await chat.seeNext('  sent with 1 earlier message that has no answer\n')
    await chat.seeNext(
      '! your last 2 messages have no answer yet: press Enter to ask again. /undo takes\n  back the last one\n',
    )
    await chat.seeNext(/› $/)
    chat.type('\x04')
    await chat.ended
    const failed = await here.skein(['and three'])
    expect(failed.stderr).toContain('! your last 2 messages have no answer yet: they are sent along\n')
    const { stderr } = await here.skein(['and four'])
    expect(stderr).toContain('! your last 3 messages have no answer yet: they are sent along\n')
    expect(here.server.requests.at(-1)!.messages.map(({ text }) => text)).toEqual([
      'one\n\ntwo\n\nand three\n\nand four',
    ])
  })
})

/** Resolves when the draft of the last turn holds its last word. */
async function savedDraft(here: Parameters<typeof storeOf>[0]): Promise<void> {
  await using store = await storeOf(here)
  await vi.waitFor(
    async () => {
      const [listed] = (await store.listConversations()).items
      const { items } = await store.listTurns(listed!.id, { status: 'open' })
      const pieces = items[0] ? (await store.readDraft(listed!.id, items[0].key)).items : []
      expect(pieces.map(({ text }) => text).join('')).toContain('six')
    },
    { timeout: 10_000 },
  )
}
