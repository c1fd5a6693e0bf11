import { generateText, isStepCount, type ModelMessage, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { continuationPrompt } from '../../../src/agent/interruption.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { scripted } from '../../../src/models/scripted.ts'
import { beginTurn } from '../../../src/recorder/begin-turn.ts'
import { count, said, setUp, turns } from './setting.ts'
import { providers } from './setting-models.ts'

const user = (content: string): ModelMessage => ({ role: 'user', content })
const long = (n: number) => `Note ${n}. ${'The sea was calm and the wind came from the west. '.repeat(20)}`

/** The text of each message in a prompt. */
const texts = (messages: readonly { content: unknown }[]) =>
  messages.map(({ content }) =>
    (content as readonly { text?: string }[]).map(part => part.text ?? '').join(''),
  )

describe('messages in a window', () => {
  const window = { limit: 2_000, keepRecent: 2 }

  it('has a summary of the older turns, made once, and the next call continues the branch', async () => {
    const { store, server, model } = await setUp('ok')
    const recorded = recordTo(store, 'web:42')
    const summarizer = scripted({ script: ['A calm voyage.'] })
    for (let n = 1; n <= 12; n++) {
      const messages: ModelMessage[] = [...(await recorded.messages({ window, summarizer })), user(long(n))]
      await generateText({ model: recorded(model()), messages, instructions: 'Be brief.' })
    }
    const place = await recorded.place()
    expect(place.name).toBe('main')
    expect(await count(store, place)).toBe(24)
    const summaries = await collectPages(page => store.listSummaries(place.conversationId, page))
    expect(summaries.map(({ text }) => text)).toContain('A calm voyage.')

    const [first, ...rest] = await recorded.messages({ window })
    expect(first).toMatchObject({ role: 'user' })
    expect(texts([first!])[0]).toMatch(/^Previous conversation summary: /)
    expect(texts(rest).at(-2)).toBe(long(12))
    expect(rest.length).toBeLessThan(16)
    // Neither the summary nor a note was stored as a message or as the system prompt.
    expect((await said(store, place)).join()).not.toContain('Previous conversation summary')
    expect((await store.getConversation(place.conversationId)).prompt?.text).toBe('Be brief.')
    expect(server.requests.every(({ refused }) => refused === null)).toBe(true)
  })

  it('says how many messages are missing if there is no summary', async () => {
    const { store, model } = await setUp('ok')
    const recorded = recordTo(store, 'web:42')
    for (let n = 1; n <= 12; n++)
      await generateText({
        model: recorded(model()),
        messages: [...(await recorded.messages()), user(long(n))],
      })
    const shown = await recorded.messages({ window })
    expect(texts(shown)[0]).toMatch(/^\[Note: \d+ older messages truncated/)
    await generateText({ model: recorded(model()), messages: [...shown, user('next')] })
    expect((await recorded.place()).name).toBe('main')
    expect(await count(store, await recorded.place())).toBe(26)
    expect(await recorded.messages({ window: 'gpt-5' })).toEqual(await recorded.messages())
  })

  it.each([
    ['shortens results', window],
    ['leaves out steps', { limit: 500, keepRecent: 2 }],
  ])('%s of a long turn, and the next call continues the branch', async (what, window) => {
    const call = { parts: [{ call: { name: 'read', input: {} } }] }
    const { store, model } = await setUp(call, call, call, call, call, call, 'done', 'and on')
    const recorded = recordTo(store, 'web:42')
    let n = 0
    const read = tool({ inputSchema: z.object({}), execute: async () => long(++n).repeat(3) })
    await generateText({
      model: recorded(model()),
      tools: recorded.tools({ read }),
      messages: [user('read all')],
      stopWhen: isStepCount(9),
    })
    const later = recordTo(store, 'web:42')
    const shown = await later.messages({ window })
    const whole = await later.messages()
    expect(JSON.stringify(shown).length).toBeLessThan(JSON.stringify(whole).length / 2)
    expect(shown.length < whole.length).toBe(what === 'leaves out steps')
    const { text } = await generateText({ model: later(model()), messages: [...shown, user('and?')] })
    expect(text).toBe('and on')
    expect((await later.place()).name).toBe('main')
    expect((await said(store, await later.place())).slice(-3)).toEqual([
      'assistant: done',
      'user: and?',
      'assistant: and on',
    ])
    expect(await count(store, await later.place())).toBe(16)
  })
})

describe.each(providers)('an interrupted answer of %s', provider => {
  it('continues without a prefill, in the same turn, and the note is not stored', async () => {
    const { store, server, model } = await setUp('three.', 'Bye.')
    const { branch } = await store.findOrCreate('web:42')
    const crashed = await beginTurn(store, branch, { words: [{ role: 'user', content: 'Count.' }] })
    await crashed.add([{ role: 'assistant', content: 'One, two, ', metadata: { interrupted: true } }])
    await crashed.end('interrupted')

    const recorded = recordTo(store, 'web:42')
    const interrupted = (await recorded.resume())!
    expect(interrupted.at).toBe('answer')
    expect(interrupted.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    const sent = streamText({ model: recorded(model(provider)), messages: interrupted.messages })
    await sent.consumeStream()
    expect(server.requests[0]!.messages.at(-1)!.role).toBe('user')
    expect(JSON.stringify(server.requests[0]!.body)).toContain(continuationPrompt)
    const place = await recorded.place()
    const all = ['user: Count.', 'assistant: One, two, ', 'assistant: three.']
    expect(await said(store, place)).toEqual(all)
    expect(await turns(store, place)).toEqual(['complete main 0-2'])
    expect(await recorded.resume()).toBeNull()

    // A caller that keeps its own list sends the note again.
    const { messages } = interrupted
    const next: ModelMessage[] = [...messages, ...(await sent.responseMessages), user('Thanks.')]
    await generateText({ model: recordTo(store, 'web:42')(model(provider)), messages: next })
    expect(await said(store, place)).toEqual([...all, 'user: Thanks.', 'assistant: Bye.'])
    expect((await recorded.place()).name).toBe('main')
  })
})

describe('resume', () => {
  it('says where the path ends, and is null after a complete answer and in an empty conversation', async () => {
    const { store, model } = await setUp('Four.')
    const recorded = recordTo(store, 'web:42')
    expect(await recorded.resume()).toBeNull()
    const { branch } = await store.findOrCreate('web:42')
    const asked = await beginTurn(store, branch, { words: [{ role: 'user', content: '2 + 2?' }] })
    await asked.end('failed')
    const interrupted = (await recorded.resume())!
    expect([interrupted.at, texts(interrupted.messages)]).toEqual(['question', ['2 + 2?']])
    await generateText({ model: recorded(model()), messages: interrupted.messages })
    expect(await recorded.resume()).toBeNull()
    expect(await turns(store, branch)).toEqual(['complete main 0-1'])
  })
})
