import { generateText, isStepCount, type ModelMessage, streamText, tool } from 'ai'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import { beginTurn } from '../../../src/recorder/begin-turn.ts'
import { count, manualTimeouts, said, setUp, turns } from './setting.ts'
import { providers } from './setting-models.ts'

const quiet = { onError: () => undefined }

describe('recordTo and a failing model', () => {
  it('stores one turn if the SDK retries the call', async () => {
    const { store, server, model } = await setUp({ status: 500, retryAfter: 0 }, 'hello')
    const recorded = recordTo(store, 'example:ai')
    const { text } = await generateText({ model: recorded(model()), prompt: 'hi' })
    expect(text).toBe('hello')
    expect(server.requests).toHaveLength(2)
    const place = await recorded.place()
    expect(await said(store, place)).toEqual(['user: hi', 'assistant: hello'])
    expect(await turns(store, place)).toEqual(['complete main 0-1'])
  })

  it('stores nothing twice if the retry comes after the turn has ended', async () => {
    const { store, model } = await setUp({ status: 500 }, 'hello')
    const { source, timeouts, runOut } = manualTimeouts()
    const recorded = recordTo(store, 'example:ai', { source, timeouts })
    const ask = () => generateText({ model: recorded(model()), prompt: 'hi', maxRetries: 0 })
    await expect(ask()).rejects.toThrow()
    const place = await recorded.place()
    expect(await turns(store, place)).toEqual(['open main 0-0'])
    expect(runOut('retryMs')).toBe(1)
    await vi.waitFor(async () => expect(await turns(store, place)).toEqual(['failed main 0-0']))
    await ask()
    expect(await said(store, place)).toEqual(['user: hi', 'assistant: hello'])
    expect(await turns(store, place)).toEqual(['complete main 0-1'])
  })

  it('stores the question and a failed turn if the call fails for good (S3-76)', async () => {
    const { store, model } = await setUp({ status: 400 })
    const recorded = recordTo(store, 'example:ai')
    await expect(generateText({ model: recorded(model()), prompt: 'hi' })).rejects.toThrow()
    const place = await recorded.place()
    expect(await said(store, place)).toEqual(['user: hi'])
    expect(await turns(store, place)).toEqual(['failed main 0-0'])
  })

  it.each(providers)(
    'stores the partial answer if the model fails in the middle of it (%s) (R27)',
    async provider => {
      const { store, model } = await setUp({ parts: [{ text: ['half ', 'an '] }, { fail: 'overloaded' }] })
      const recorded = recordTo(store, 'example:ai')
      await streamText({ model: recorded(model(provider)), prompt: 'hi', ...quiet }).consumeStream()
      const place = await recorded.place()
      expect(await said(store, place)).toEqual(['user: hi', 'assistant: half an '])
      expect(await turns(store, place)).toEqual(['failed main 0-1'])
    },
  )

  it.each(providers)('stores the partial answer if the connection breaks (%s) (R27)', async provider => {
    const { store, model } = await setUp({ parts: [{ text: ['half ', 'an '] }, { cut: 'socket' }] }, 'whole')
    const recorded = recordTo(store, 'example:ai')
    const ask = () => streamText({ model: recorded(model(provider)), prompt: 'hi', ...quiet }).consumeStream()
    await ask()
    const place = await recorded.place()
    expect(await said(store, place)).toEqual(['user: hi', 'assistant: half an '])
    expect((await turns(store, place))[0]).toMatch(/^(failed|interrupted) main 0-1$/)
    const [, half] = await pathOf(store, (await store.getBranch(place)).head!)
    expect(half?.metadata).toMatchObject({ [(await turns(store, place))[0]!.split(' ')[0]!]: true })
    // After a repeated call, the answer is on a sibling branch.
    await ask()
    expect(await said(store, await recorded.place())).toEqual(['user: hi', 'assistant: whole'])
    expect(await count(store, place)).toBe(3)
  })
})

describe('recordTo and a caller that aborts', () => {
  it('stores the partial answer as interrupted', async () => {
    const { store, model } = await setUp({
      parts: [{ thinking: 'hm' }, { text: ['half ', 'an '] }, { hang: true }],
    })
    const recorded = recordTo(store, 'example:ai')
    const abort = new AbortController()
    const options = { model: recorded(model('anthropic')), prompt: 'hi', abortSignal: abort.signal }
    const result = streamText({ ...options, ...quiet })
    let text = ''
    for await (const piece of result.textStream) {
      text += piece
      if (text === 'half an ') abort.abort()
    }
    const place = await recorded.place()
    await vi.waitFor(async () => expect(await turns(store, place)).toEqual(['interrupted main 0-1']))
    expect(await said(store, place)).toEqual(['user: hi', 'assistant: (hm) half an '])
  })

  it('stores the partial answer if the caller stops reading the stream', async () => {
    const { store, server, model } = await setUp({ parts: [{ text: ['half ', 'an '] }, { hang: true }] })
    const recorded = recordTo(store, 'example:ai')
    const { stream } = await recorded(model()).doStream({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    })
    const reader = stream.getReader()
    let deltas = 0
    while (deltas < 2) if ((await reader.read()).value?.type === 'text-delta') deltas++
    await reader.cancel()
    const place = await recorded.place()
    expect(await said(store, place)).toEqual(['user: hi', 'assistant: half an '])
    expect(await turns(store, place)).toEqual(['interrupted main 0-1'])
    expect(await server.requests[0]!.gone).toBe(true)
  })

  it('stores the question if nothing has arrived yet', async () => {
    const { store, server, model } = await setUp({ parts: [{ hang: true }] })
    const recorded = recordTo(store, 'example:ai')
    const abort = new AbortController()
    const asking = generateText({ model: recorded(model()), prompt: 'hi', abortSignal: abort.signal })
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    abort.abort()
    await expect(asking).rejects.toThrow()
    const place = await recorded.place()
    expect(await said(store, place)).toEqual(['user: hi'])
    expect(await turns(store, place)).toEqual(['interrupted main 0-0'])
  })

  it('stores the call, its result and an interrupted turn if a tool is running', async () => {
    const { store, model } = await setUp({ parts: [{ call: { name: 'look', input: {} } }] })
    const recorded = recordTo(store, 'example:ai')
    const abort = new AbortController()
    const look = tool({
      inputSchema: z.object({}),
      execute: async (_, { abortSignal }) => {
        const gone = new Promise((_, reject) => {
          abortSignal!.addEventListener('abort', () => reject(new Error('stopped')))
        })
        abort.abort()
        return gone
      },
    })
    const options = {
      model: recorded(model()),
      prompt: 'hi',
      stopWhen: isStepCount(3),
      abortSignal: abort.signal,
    }
    await streamText({ ...options, tools: recorded.tools({ look }), ...quiet }).consumeStream()
    const place = await recorded.place()
    await vi.waitFor(async () => expect(await turns(store, place)).toEqual(['interrupted main 0-2']))
    expect((await said(store, place)).slice(1)).toEqual([
      'assistant: [look {}]',
      'tool_result: look ✗ Error: stopped',
    ])
  })
})

describe('an arriving answer', () => {
  it('is stored before it is complete', async () => {
    const go = Promise.withResolvers<void>()
    const { store, model } = await setUp({
      parts: [{ text: ['half ', 'an '] }, { gate: go.promise }, { text: 'answer' }],
    })
    const recorded = recordTo(store, 'example:ai')
    const result = streamText({ model: recorded(model()), prompt: 'hi' })
    const text = result.text
    const { conversationId } = await vi.waitFor(() => recorded.place())
    await vi.waitFor(async () => {
      const [turn] = await collectPages(page => store.listTurns(conversationId, page))
      const draft = await collectPages(page => store.readDraft(conversationId, turn!.key, page))
      expect(draft.map(piece => piece.text).join('')).toBe('half an ')
    })
    go.resolve()
    expect(await text).toBe('half an answer')
    expect(await said(store, await recorded.place())).toEqual(['user: hi', 'assistant: half an  answer'])
  })
})

describe('concurrent calls', () => {
  it('of one recorder go to sibling branches, each complete', async () => {
    const go = Promise.withResolvers<void>()
    let arrived = 0
    const { store, model } = await setUp(async ({ messages }) => {
      if (++arrived === 8) go.resolve()
      await go.promise
      return `answer to ${messages.at(-1)!.text}`
    })
    // They share their state, and do not wait as for another process.
    const recorded = recordTo(store, 'example:ai', { timeouts: { busyMs: 3_600_000 } })
    const ask = (prompt: string) => generateText({ model: recorded(model()), prompt })
    await Promise.all(['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd'].map(ask))
    const { conversationId } = await recorded.place()
    const branches = await collectPages(page => store.listBranches(conversationId, page))
    const paths = await Promise.all(branches.map(async branch => (await said(store, branch)).join(', ')))
    const pair = (word: string) => `user: ${word}, assistant: answer to ${word}`
    expect(paths.toSorted()).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'd', 'd'].map(pair))
    expect(
      (await collectPages(page => store.listTurns(conversationId, page))).map(({ status }) => status),
    ).toEqual(Array(8).fill('complete'))
  })

  it('with steps and tools stay separate, in every round (R8)', async () => {
    const { store, model } = await setUp(({ messages }) => {
      const question = messages.findLast(({ role }) => role === 'user')!.text
      if (messages.at(-1)!.role === 'tool') return `answer to ${question}`
      return { parts: [{ call: { name: 'look', input: { at: question } } }] }
    })
    const recorded = recordTo(store, 'example:ai', { timeouts: { busyMs: 3_600_000 } })
    const look = tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `seen ${at}` })
    const own: ModelMessage[][] = Array.from({ length: 6 }, () => [])
    for (let round = 0; round < 5; round++) {
      const ask = async (messages: ModelMessage[], i: number) => {
        messages.push({ role: 'user', content: `${i}.${round}` })
        const tools = recorded.tools({ look })
        const options = { model: recorded(model('openai-chat')), tools, messages, stopWhen: isStepCount(3) }
        if (i % 2 === 0) messages.push(...(await generateText(options)).responseMessages)
        else messages.push(...(await streamText(options).responseMessages))
      }
      await Promise.all(own.map(ask))
    }
    const { conversationId } = await recorded.place()
    const branches = await collectPages(page => store.listBranches(conversationId, page))
    const paths = await Promise.all(branches.map(branch => said(store, branch)))
    const step = (i: number, round: number) => [
      ...[`user: ${i}.${round}`, `assistant: [look {"at":"${i}.${round}"}]`],
      ...[`tool_result: look → seen ${i}.${round}`, `assistant: answer to ${i}.${round}`],
    ]
    const expected = own.map((_, i) => [0, 1, 2, 3, 4].flatMap(round => step(i, round)))
    expect(paths.toSorted()).toEqual(expected.toSorted())
    expect(await count(store, await recorded.place())).toBe(6 * 5 * 4)
    const statuses = (await collectPages(page => store.listTurns(conversationId, page))).map(
      ({ status }) => status,
    )
    expect(statuses).toEqual(Array(30).fill('complete'))
  })

  it('fork if another process holds the branch, or are refused with onBusy: refuse', async () => {
    const { store, model } = await setUp('hello')
    const { branch } = await store.findOrCreate('example:ai')
    const other = await beginTurn(store, branch, { words: [{ role: 'user', content: 'mine' }] })
    const refused = recordTo(store, 'example:ai', { onBusy: 'refuse' })
    const messages = [{ role: 'user' as const, content: 'mine' }]
    await expect(generateText({ model: refused(model()), messages })).rejects.toMatchObject({ code: 'busy' })
    const recorded = recordTo(store, 'example:ai', { timeouts: { busyMs: 0 } })
    await generateText({ model: recorded(model()), messages })
    expect((await recorded.place()).name).toBe('main-2')
    await other.end('complete')
    expect(await said(store, branch)).toEqual(['user: mine'])
  })
})

describe('several recorders of one conversation', () => {
  const user = (content: string) => ({ role: 'user' as const, content })
  const assistant = (content: string) => ({ role: 'assistant' as const, content })

  it('may be created for each request: a step finds the exchange of an earlier recorder', async () => {
    const { store, model } = await setUp({ parts: [{ call: { name: 'look', input: {} } }] }, 'Seen.')
    const tools = { look: tool({ inputSchema: z.object({}), outputSchema: z.string() }) }
    const messages: ModelMessage[] = [user('look')]
    const { toolCalls, responseMessages } = await generateText({
      ...{ tools, messages },
      model: recordTo(store, 'example:ai')(model()),
    })
    const [{ toolCallId, toolName } = { toolCallId: '', toolName: '' }] = toolCalls
    const output = { type: 'text' as const, value: 'seen' }
    const results = [{ type: 'tool-result' as const, toolCallId, toolName, output }]
    messages.push(...responseMessages, { role: 'tool', content: results })
    const next = recordTo(store, 'example:ai')
    await generateText({ tools, messages, model: next(model()) })
    const place = await next.place()
    expect(await turns(store, place)).toEqual(['complete main 0-3'])
  })

  it('do not hold the branch for tools whose results the caller provides', async () => {
    const { store, model } = await setUp({ parts: [{ call: { name: 'look', input: {} } }] })
    const recorded = recordTo(store, 'example:ai')
    const tools = recorded.tools({ look: tool({ inputSchema: z.object({}), outputSchema: z.string() }) })
    await generateText({ tools, model: recorded(model()), prompt: 'look' })
    expect(await turns(store, await recorded.place())).toEqual(['complete main 0-1'])
  })

  it('see messages of another process, and do not store them again', async () => {
    const { store, model } = await setUp(({ n }) => `answer ${n}`)
    const recorded = recordTo(store, 'example:ai')
    const ask = (...messages: ModelMessage[]) => generateText({ model: recorded(model()), messages })
    await ask(user('one'))
    const place = await recorded.place()
    const { head } = await store.getBranch(place)
    await store.append(place, head, [
      { role: 'user', content: 'two' },
      { role: 'assistant', content: 'three' },
    ])
    await ask(user('one'), assistant('answer 0'), user('two'), assistant('three'), user('four'))
    expect((await recorded.place()).name).toBe('main')
    expect(await count(store, place)).toBe(6)
  })

  it('wait a moment for a turn of another process that is about to end', async () => {
    const { store, model } = await setUp('hello')
    const { branch } = await store.findOrCreate('example:ai')
    const other = await beginTurn(store, branch, { words: [{ role: 'user', content: 'mine' }] })
    const recorded = recordTo(store, 'example:ai')
    const asking = generateText({ model: recorded(model()), messages: [user('mine')] })
    await other.end('complete')
    await asking
    expect(await said(store, branch)).toEqual(['user: mine', 'assistant: hello'])
  })
})
