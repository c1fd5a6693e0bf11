import { describe, expect, it, vi } from 'vitest'
import { modelHome } from '../real-model.ts'
import { terminal } from '../terminal.ts'

// Many processes on few cores.
vi.setConfig({ testTimeout: 60_000 })

describe('two chats in one conversation', () => {
  it('show the words of the other before the next answer, once', async () => {
    await using here = await modelHome(['First.', 'The other answer.', 'Third.', 'Fourth.'])
    using a = terminal(here, ['chat'])
    await a.see('› ')
    a.type('one\r')
    await a.seeNext('First.')
    await a.seeNext(/› $/)
    using b = terminal(here, ['chat'])
    await b.see('First.')
    await b.see(/› $/)
    b.type('words of the other\r')
    await b.seeNext('The other answer.')
    await b.seeNext(/› $/)
    expect(a.screen()).not.toContain('words of the other')

    a.type('three\r')
    await a.seeNext(
      /! 2 messages were added here by another process:\n {2}› words of the other\n {4}The other answer\.\n\nThird\.\n/,
    )
    await a.seeNext(/› $/)
    a.type('four\r')
    await a.seeNext('Fourth.')
    await a.seeNext(/› $/)
    expect(a.screen().split('added here by another process')).toHaveLength(2)
    expect(here.server.requests.at(-1)!.messages.map(({ text }) => text)).toContain('words of the other')
  })

  it('show them before the next prompt too, and never a partial answer of their own', async () => {
    await using here = await modelHome([
      'First.',
      'The other answer.',
      { parts: [{ text: 'half ' }, { cut: 'socket' }] },
    ])
    using chat = terminal(here, ['chat'])
    await chat.see('› ')
    chat.type('one\r')
    await chat.seeNext('First.')
    await chat.seeNext(/› $/)
    await here.skein(['-q', 'from a script'])
    chat.type('/title\r')
    await chat.seeNext(/! 2 messages were added here by another process:\n {2}› from a script\n/)
    await chat.seeNext(/› $/)
    chat.type('three\r')
    await chat.seeNext('press Enter to continue it')
    await chat.seeNext(/› $/)
    expect(chat.screen().split('added here by another process')).toHaveLength(2)
  })
})
