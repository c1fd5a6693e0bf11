import { describe, expect, it } from 'vitest'
import { summaryRequest } from '../../src/context/summary/summary-prompt.ts'
import { asText } from '../../src/context/text/as-text.ts'
import type { Block } from '../../src/core/block.ts'
import { ContextLengthError, ModelError } from '../../src/core/errors.ts'
import { textOf } from '../../src/core/message.ts'
import type { ContextMessage, Model, ModelAnswer, ModelEvent, ModelRequest } from '../../src/core/model.ts'
import { estimateTokens } from '../../src/core/tokens.ts'
import { scripted } from '../../src/models/scripted.ts'

const text = (words: string): Block => ({ type: 'text', text: words })
const user = (words: string): ContextMessage => ({ role: 'user', content: [text(words)] })
const bot = (words: string): ContextMessage => ({ role: 'assistant', content: [text(words)] })
const system = (words: string): ContextMessage => ({ role: 'system', content: [text(words)] })
const look = { name: 'look', description: 'looks', schema: { type: 'object' } }

async function events(model: Model, request: ModelRequest): Promise<readonly ModelEvent[]> {
  const all: ModelEvent[] = []
  for await (const event of model.stream(request)) all.push(event)
  return all
}

async function answer(model: Model, request: ModelRequest): Promise<ModelAnswer> {
  const last = (await events(model, request)).at(-1)
  if (last?.type !== 'answer') throw new Error('the stream did not end with an answer')
  return last.answer
}

async function says(...messages: readonly ContextMessage[]): Promise<string> {
  const { content: blocks } = await answer(scripted(), { messages })
  return blocks.map(block => (block.type === 'text' ? String(block.text) : `[${block.type}]`)).join('')
}

describe('the scripted model without a script', () => {
  it('knows a conversation that it gets as one text', async () => {
    const told = `${asText([user('my name is Ada'), bot('Nice to meet you.\nAda.'), user('thanks')])}\n\n`
    const asked = (question: string): ContextMessage => ({
      role: 'user',
      content: [text(told), text(question)],
    })
    expect(await says(asked('What is my name?'))).toBe('Your name is Ada.')
    expect(await says(asked('What did I say first?'))).toContain('my name is Ada')
    expect(await says(system(told), user('What is my name?'))).toBe('Your name is Ada.')
  })

  it('answers a greeting', async () => {
    expect(await says(user('hello'))).toMatch(/^Hello! I am the scripted model/)
  })

  it('knows the first and the last message of its context, and nothing else (settled 17)', async () => {
    const talk = [user('the sky is green'), bot('ok'), user('grass is blue'), bot('ok')]
    expect(await says(...talk, user('What did I say first?'))).toBe(
      'The first thing you said was: "the sky is green"',
    )
    expect(await says(...talk, user('what did I say before?'))).toBe('Before this you said: "grass is blue"')
    expect(await says(...talk.slice(2), user('What did I say first?'))).toBe(
      'The first thing you said was: "grass is blue"',
    )
    expect(await says(user('What did I say first?'))).toBe('You have said nothing before this.')
    const notice = '[Note: 2 older messages truncated to stay within token limit]'
    const cut = [{ role: 'system', content: [{ type: 'text', text: notice }] } as const, ...talk.slice(2)]
    expect(await says(...cut, user('What did I say first?'))).toBe(
      'Of what I was given, the first thing you said was: "grass is blue"',
    )
    expect(await says(...talk, user('what did you say last?'))).toBe('I said: "ok"')
  })

  it('remembers names and facts, the newest value, also from a summary', async () => {
    expect(await says(user('My name is Ada.'))).toBe('Nice to meet you, Ada.')
    expect(await says(user('My name is Ada.'), bot('Hi'), user('what is my name?'))).toBe('Your name is Ada.')
    expect(
      await says(
        user('my name is Ada, my colour is red'),
        bot('Hi'),
        user('call me Eve'),
        bot('ok'),
        user('who am I?'),
      ),
    ).toBe('Your name is Eve.')
    expect(
      await says(user('my favorite color is dark red'), bot('k'), user("What's my favourite colour?")),
    ).toBe('Your favourite colour is dark red.')
    const summary = system('Previous conversation summary: My name is Ada. We spoke of trees.')
    expect(await says(summary, user('what is my name?'))).toBe('Your name is Ada.')
    expect(await says(user('what is my name?'))).toBe('You have not told me your name.')
  })

  it.each(['hello, I am Ada', "Hi, I'm Ada!", 'I am Ada from London.', 'Hey there, I’m Ada, a pilot'])(
    'knows the name after %j',
    async words => {
      expect(await says(user(words))).toBe('Nice to meet you, Ada.')
      expect(await says(user(words), bot('Hi'), user('what is my name?'))).toBe('Your name is Ada.')
    },
  )

  it.each(['I am tired', 'I am in Rome', "I'm sure that I am Ada", 'hello'])(
    'takes nothing for a name in %j',
    async words => {
      expect(await says(user(words), bot('Hi'), user('what is my name?'))).toBe(
        'You have not told me your name.',
      )
    },
  )

  it('distinguishes statements from questions, and finds the end of a statement', async () => {
    const talk = [
      user('My name is Ada Lovelace and I like maths.'),
      bot('ok'),
      user('remember that the door code is 4711'),
      bot('ok'),
    ]
    expect(await says(...talk, user("What's my name"))).toBe('Your name is Ada Lovelace.')
    expect(await says(...talk, user('what is the door code?'))).toBe('The door code is 4711.')
    expect(await says(...talk, user('is my name Eve?'), bot('no'), user('who am I?'))).toBe(
      'Your name is Ada Lovelace.',
    )
    expect(
      await says(...talk, user('do you remember my name?'), bot('yes'), user('what should you remember?')),
    ).toBe('You asked me to remember: the door code is 4711')
    expect(await says(...talk, user('what have we talked about?'))).toBe(
      'My name is Ada Lovelace and I like maths. remember that the door code is 4711.',
    )
  })

  it('describes itself', async () => {
    expect(await says(user('who are you?'))).toMatch(/^I am the scripted model.*\/tool/)
  })

  it('counts messages, adds numbers and counts to a number', async () => {
    expect(await says(user('a'), bot('b'), user('how many messages are there?'))).toBe(
      'I was given 3 messages, 2 of them yours, this one included.',
    )
    expect(await says(user('what is 12 * 7?'))).toBe('12 * 7 = 84')
    expect(await says(user('0.1 + 0.2'))).toBe('0.1 + 0.2 = 0.3')
    expect(await says(user('count to 5'))).toBe('1, 2, 3, 4, 5')
  })

  it('repeats an unknown message, and says once how to get a real model', async () => {
    const first = await says(user('why is the build red?'))
    expect(first).toMatch(/^You said: "why is the build red\?" .*ANTHROPIC_API_KEY/)
    const second = await says(user('why is the build red?'), bot(first), user('and now?'))
    expect(second).toBe('You said: "and now?" To that I have no answer of my own.')
  })

  it('has a prepared dialogue: an answer with a table, a decision that is remembered, and a tool call', async () => {
    expect(await says(user('tour'))).toMatch(/^Skein keeps every conversation\. Five things/)
    const why = await says(user('Why do all our websockets drop at 02:00?'))
    expect(why).toMatch(/\| full jitter \| spread over 30 s \|/)
    const opening = [user('Why do all our websockets drop at 02:00?'), bot(why)]
    const asked = user('Which option did we choose?')
    expect(await says(...opening, asked)).toMatch(/^You said:/)
    for (const [wish, chosen] of [
      ['Use full jitter with a cap of 30 s.', 'We chose full jitter, at most 30 s.'],
      ['Use polling instead.', 'We chose polling, every 15 s.'],
    ]) {
      const decided = await says(...opening, user(wish!))
      expect(await says(...opening, user(wish!), bot(decided), asked)).toBe(chosen)
    }
    expect(await says(user('Which files mention reconnect?'))).toContain('skein chat --tools')
  })

  it('makes a digest that keeps statements, also after repeated digests', async () => {
    const talk = [
      user('Hello there. My name is Ada.'),
      bot('Nice. It is late.'),
      user('We decided to use SQLite.'),
      bot('Good.'),
    ]
    const digest = await says(...talk, user('Summarise the conversation so far.'))
    expect(digest).toMatch(/My name is Ada\./)
    expect(digest).toMatch(/We decided to use SQLite\./)
    const again = await says(
      system('Summarise what follows in a few sentences.'),
      user(`Previous conversation summary: ${digest}\nUser: my dog is Rex`),
    )
    expect(again).toMatch(/My name is Ada\./)
    expect(again).toMatch(/my dog is Rex/)
    expect(again).not.toMatch(/Summarise/)
  })

  it('serves summarize: a digest without instructions, with all statements, within the limit', async () => {
    const room = { summary: 60, conversation: 4_000 }
    const voyage = (from: number) =>
      Array.from({ length: 20 }, (_, n) => user(`Day ${from + n} of the voyage. The sea is calm.`))
    const digest = async (messages: readonly ContextMessage[], soFar: string | null) => {
      const asked = summaryRequest(messages, soFar, room, '')
      return answer(scripted(), { messages: asked, maxOutput: room.summary })
    }
    const first = await digest(
      [user('Hello. My name is Ada. I build boats.'), bot('Good.'), ...voyage(1)],
      null,
    )
    const again = await digest(voyage(21), textOf(first))
    for (const { content, finish } of [first, again]) {
      expect(finish).toBe('stop')
      expect(textOf({ content })).toMatch(/My name is Ada\..*\(And \d+ more\.\)$/)
      expect(textOf({ content })).not.toMatch(/summar|<|part of a conversation/i)
      expect(estimateTokens(content)).toBeLessThanOrEqual(60)
    }
  })

  it('puts statements before questions', async () => {
    const talk = [user('must I always ask?'), bot('no'), user('my cat is Tom')]
    expect(await says(...talk, user('tl;dr'))).toBe('my cat is Tom. must I always ask?')
  })

  it('gives the same answer to the same context', async () => {
    const messages = [user('tell me a story')]
    expect(await events(scripted(), { messages })).toEqual(await events(scripted(), { messages }))
  })
})

describe('the scripted model with directives in a message', () => {
  it('calls offered tools in parallel, and reports their results', async () => {
    const asked = user('/tool look {"at": 1}\n/tool look {"at": 2}')
    const { content: blocks, finish } = await answer(scripted(), { messages: [asked], tools: [look] })
    expect(finish).toBe('tool_calls')
    expect(blocks).toMatchObject([
      { type: 'tool_call', name: 'look', input: { at: 1 } },
      { type: 'tool_call', name: 'look', input: { at: 2 } },
    ])
    const ids = blocks.map(block => String((block as { callId?: unknown }).callId))
    expect(new Set(ids).size).toBe(2)
    const results = ids.map((callId, n): Block => ({ type: 'tool_result', callId, output: `seen ${n}` }))
    const after = [
      asked,
      { role: 'assistant', content: blocks } as const,
      { role: 'tool_result', content: results } as const,
    ]
    expect(await says(...after)).toBe('look returned: "seen 0"\nlook returned: "seen 1"')
    expect(await says(...after, bot('so'), user('what did I say first?'))).toMatch(
      /^The first thing you said was: "\/tool/,
    )
  })

  it('explains that a tool is not offered, or that its input is not JSON', async () => {
    expect(await says(user('/tool look {}'))).toBe('I cannot call look: no tools are offered.')
    const { content: blocks } = await answer(scripted(), { messages: [user('/tool look {')], tools: [look] })
    expect(blocks).toEqual([text('I cannot call look: what follows its name is not JSON.')])
  })

  it('fails, overflows, thinks and repeats', async () => {
    await expect(says(user('/fail 429'))).rejects.toMatchObject({
      code: 'model_failed',
      status: 429,
      retryable: true,
    })
    await expect(says(user('/fail 400'))).rejects.toMatchObject({ retryable: false })
    await expect(says(user('/overflow 5'))).rejects.toMatchObject({ code: 'context_length', limit: 5 })
    const { content: blocks } = await answer(scripted(), { messages: [user('/think hm\n/say so it is')] })
    expect(blocks).toEqual([{ type: 'thinking', text: 'hm' }, text('so it is')])
    expect(await says(user('/long 3'))).toBe('word1 word2 word3')
  })

  it('answers slowly, with the sleep function of the caller', async () => {
    const slept: number[] = []
    const model = scripted({ sleep: async ms => void slept.push(ms) })
    await events(model, { messages: [user('/slow 30 one two three')] })
    expect(slept).toEqual([30, 30, 30])
  })
})

describe('the scripted model with a script', () => {
  it('streams word by word, and the pieces equal the answer', async () => {
    const all = await events(scripted({ script: [{ thinking: 'let me see', text: ' two  words\n' }] }), {
      messages: [user('x')],
    })
    const joined = (type: string) =>
      all.map(event => (event.type === type && 'text' in event ? event.text : '')).join('')
    expect(joined('thinking')).toBe('let me see')
    expect(joined('text')).toBe(' two  words\n')
    expect(all.at(-1)).toMatchObject({
      type: 'answer',
      answer: { finish: 'stop', usage: { input: 1, output: 6 }, model: 'scripted' },
    })
  })

  it('uses the replies in order, and then answers by itself', async () => {
    const model = scripted({ script: ['one', { fail: 503, retryAfterMs: 20 }, { overflow: 9 }] })
    const request = { messages: [user('hello')] }
    expect((await answer(model, request)).content).toEqual([text('one')])
    await expect(answer(model, request)).rejects.toThrow(ModelError)
    await expect(answer(model, request)).rejects.toThrow(ContextLengthError)
    expect((await answer(model, request)).content).toMatchObject([{ text: expect.stringMatching(/^Hello!/) }])
  })

  it('calls a script function for every call', async () => {
    const model = scripted({
      script: ({ messages }, call) => (call === 1 ? null : `${call}: ${messages.length}`),
    })
    expect((await answer(model, { messages: [user('hello')] })).content).toEqual([text('0: 1')])
    expect((await answer(model, { messages: [user('count to 2')] })).content).toEqual([text('1, 2')])
  })

  it('breaks off after some pieces, like a lost connection', async () => {
    const seen: ModelEvent[] = []
    const run = async () => {
      for await (const event of scripted({ script: [{ text: 'a b c', breakAfter: 2 }] }).stream({
        messages: [user('x')],
      }))
        seen.push(event)
    }
    await expect(run()).rejects.toMatchObject({ code: 'model_failed', retryable: true })
    expect(seen).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: ' b' },
    ])
  })

  it('refuses a context that is larger than its window, including tools, and accepts one of exactly its size', async () => {
    const messages = [user('x'.repeat(400))]
    expect((await answer(scripted({ window: 100 }), { messages })).usage.input).toBe(100)
    await expect(answer(scripted({ window: 99 }), { messages })).rejects.toMatchObject({
      limit: 99,
      needed: 100,
    })
    await expect(answer(scripted({ window: 100 }), { messages, tools: [look] })).rejects.toThrow(
      ContextLengthError,
    )
  })

  it('obeys maxOutput', async () => {
    const { content, finish } = await answer(scripted({ script: ['x'.repeat(100)] }), {
      messages: [user('x')],
      maxOutput: 5,
    })
    expect(finish).toBe('length')
    expect(estimateTokens(content)).toBe(5)
  })

  it('stops with the signal’s reason, before and between pieces and during a delay', async () => {
    const before = new AbortController()
    before.abort(new Error('not at all'))
    await expect(answer(scripted(), { messages: [user('x')], signal: before.signal })).rejects.toThrow(
      'not at all',
    )

    const between = new AbortController()
    const seen: ModelEvent[] = []
    const run = async () => {
      for await (const event of scripted({ script: ['a b c'] }).stream({
        messages: [user('x')],
        signal: between.signal,
      })) {
        seen.push(event)
        between.abort(new Error('enough'))
      }
    }
    await expect(run()).rejects.toThrow('enough')
    expect(seen).toEqual([{ type: 'text', text: 'a' }])

    const waiting = new AbortController()
    const slow = answer(scripted({ delayMs: 3_600_000 }), { messages: [user('x')], signal: waiting.signal })
    waiting.abort(new Error('too slow'))
    await expect(slow).rejects.toThrow('too slow')

    const closed = new AbortController()
    const script = [{ text: 'a', gate: () => new Promise(() => {}) }]
    const gated = answer(scripted({ script }), { messages: [user('x')], signal: closed.signal })
    closed.abort(new Error('never opened'))
    await expect(gated).rejects.toThrow('never opened')
  })

  it('waits for the gate before each piece', async () => {
    const opened: number[] = []
    const script = [{ text: 'a b', gate: async (n: number) => void opened.push(n) }]
    await answer(scripted({ script }), { messages: [user('x')] })
    expect(opened).toEqual([0, 1])
  })
})
