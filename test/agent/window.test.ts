import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/tools/tool.ts'
import { ContextLengthError } from '../../src/core/errors.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { textOf } from '../../src/index.ts'
import { type ScriptedReply, scripted } from '../../src/models/scripted.ts'
import { blocksOf, eventsOf, world } from './build.ts'

const long = (word: string) => `${word} ${'and so on '.repeat(40)}`

/** A script that keeps the contexts that it gets. */
function listening(replies: (call: number) => ScriptedReply = () => 'ok') {
  const requests: ModelRequest[] = []
  const script = (request: ModelRequest, call: number) => {
    requests.push(request)
    return replies(call)
  }
  return { requests, script, last: () => requests.at(-1)!.messages.map(message => textOf(message)) }
}

describe('a conversation that exceeds its window', () => {
  it('is sent from the newest exchanges, with a notice, and stays complete in the store (S2-37, S2-43, S0-32)', async () => {
    const { script, last } = listening()
    await using here = await world(script, { system: 'Be brief.', window: { limit: 1_000 } })
    for (let i = 0; i < 20; i++) await here.agent.ask('talk', long(`message ${i}`))
    const [system, notice, ...rest] = last()
    expect(system).toBe('Be brief.')
    expect(notice).toMatch(/^\[Note: \d+ older messages truncated to stay within token limit\]$/)
    expect(rest.at(-1)).toContain('message 19')
    const { conversation } = (await here.store.findByKey('talk'))!
    expect(conversation.messages).toBe(40)
    expect(Number(/\d+/.exec(notice!)![0]) + rest.length).toBe(39)
  })

  it('is summarized with strategy: summarization; the summary is stored and sent, and the last 10 messages stay (S2-39)', async () => {
    const summarizer = scripted({ id: 'small', script: () => 'They counted.' })
    const { script, last } = listening()
    const options = { strategy: 'summarization', summarizer, window: { limit: 2_000 } } as const
    await using here = await world(script, options)
    const outcomes: string[] = []
    let [replied, answered] = [0, 0]
    for (let i = 0; i < 30; i++) {
      for (const event of await eventsOf(here.agent.send('talk', long(`message ${i}`)))) {
        if (event.type === 'summary') outcomes.push(event.outcome)
        if (event.type === 'ended') replied += event.reply.usage.input! + event.reply.usage.output!
        if (event.type === 'answered') answered += event.usage.input! + event.usage.output!
      }
    }
    expect(outcomes.length).toBeGreaterThan(1)
    expect(new Set(outcomes)).toEqual(new Set(['made']))
    const [summary, ...rest] = last()
    expect(summary).toBe('Previous conversation summary: They counted.')
    expect(rest.filter(text => text.startsWith('message')).length).toBeGreaterThanOrEqual(5)
    const { conversation } = (await here.store.findByKey('talk'))!
    const stored = await collectPages(page => here.store.listSummaries(conversation.id, page))
    expect(stored.map(one => one.model)).toEqual(outcomes.map(() => 'small'))
    expect(conversation.messages).toBe(60)
    // The usage of the summaries is in the replies, and is stored with the turns that needed them.
    expect(replied - answered).toBeGreaterThan(1_000)
    expect(conversation.tokensUsed).toBe(replied)
  })

  it('is summarized with instructions of the application', async () => {
    const asked: string[] = []
    const model = scripted({
      id: 'small',
      script: ({ messages }) => {
        asked.push(messages.map(textOf).join('\n'))
        return 'They counted.'
      },
    })
    const summarizer = { model, instructions: 'Keep every order number.' }
    const { script } = listening()
    const options = { strategy: 'summarization', summarizer, window: { limit: 2_000 } } as const
    await using here = await world(script, options)
    for (let i = 0; i < 30; i++) await here.agent.ask('talk', long(`message ${i}`))
    expect(asked.length).toBeGreaterThan(0)
    for (const text of asked) expect(text).toContain('Keep every order number.')
    const wrong = { instructions: 3 } as never
    expect(() => here.another([], { summarizer: wrong })).toThrow('summarizer.instructions: must be text')
  })

  it('continues with an extractive summary if the model fails, and reports it', async () => {
    const summarizer = scripted({ id: 'small', script: () => ({ fail: 500 }) })
    const { script, last } = listening()
    await using here = await world(script, {
      strategy: 'summarization',
      summarizer,
      window: { limit: 2_000 },
    })
    const outcomes: string[] = []
    for (let i = 0; i < 20; i++) {
      for (const event of await eventsOf(here.agent.send('talk', long(`message ${i}`)))) {
        if (event.type === 'summary') outcomes.push(event.outcome)
      }
    }
    expect(new Set(outcomes)).toEqual(new Set(['extractive']))
    expect(last()[0]).toContain('Previous conversation summary: ')
  })
})

describe('a provider that refuses the context as too long', () => {
  it('gets half of it, a quarter, and the last exchange', async () => {
    const { script, requests } = listening(call => (call >= 20 && call < 23 ? { overflow: 100_000 } : 'ok'))
    await using here = await world(script, { window: { limit: 10_000 } })
    for (let i = 0; i < 20; i++) await here.agent.ask('talk', long(`message ${i}`))
    const events = await eventsOf(here.agent.send('talk', 'last'))
    expect(events.filter(event => event.type === 'shrunk').map(event => event.attempt)).toEqual([1, 2, 3])
    const sizes = requests.slice(20).map(request => request.messages.length)
    expect(sizes.length).toBe(4)
    for (let i = 1; i < 4; i++) expect(sizes[i]).toBeLessThan(sizes[i - 1]!)
    expect(requests.at(-1)!.messages.filter(message => message.role !== 'system').length).toBe(1)
    expect((await here.store.findByKey('talk'))!.conversation.messages).toBe(42)
  })

  it('leads to a clear error if nothing more can be left out; the question is stored', async () => {
    await using here = await world(() => ({ overflow: 5 }))
    const error = await here.agent.ask('talk', 'hello').catch(error => error)
    expect(error).toBeInstanceOf(ContextLengthError)
    expect(error.message).toContain('finds even the last exchange too long')
    expect((await here.store.findByKey('talk'))!.conversation.messages).toBe(1)
  })

  it('shows the agent the real size of the window', async () => {
    const { script, requests } = listening(call => (call === 10 ? { overflow: 1_000 } : 'ok'))
    await using here = await world(script, { window: { limit: 100_000 } })
    for (let i = 0; i < 10; i++) await here.agent.ask('talk', long(`message ${i}`))
    await here.agent.ask('talk', 'one more')
    const before = requests.length
    const events = await eventsOf(here.agent.send('talk', 'and another'))
    expect(requests.length).toBe(before + 1)
    const context = events.find(event => event.type === 'context')
    expect(context?.tokens.budget).toBe(800)
  })
})

it('stores exact token counts with the messages, and does not count them again', async () => {
  let calls = 0
  const count = () => {
    calls++
    return 7
  }
  await using here = await world(['ok', 'ok'], { count })
  await here.agent.ask('talk', 'hello')
  await here.agent.ask('talk', 'hello again')
  const { branch } = (await here.store.findByKey('talk'))!
  expect((await pathOf(here.store, branch.head!)).map(message => message.tokens)).toEqual([7, 7, 7, 7])
  expect(calls).toBe(4)
})

it('keeps space for the answer free in the window (S2-36)', async () => {
  await using here = await world(['ok'], { window: { limit: 1_000 }, maxOutput: 100 })
  const events = await eventsOf(here.agent.send('talk', 'hello'))
  expect(events.find(event => event.type === 'context')?.tokens.budget).toBe(700)
})

describe('a large tool result', () => {
  const lines = Array.from({ length: 5_000 }, (_, i) => `line ${i}`).join('\n')
  const prints = tool({ description: '', input: z.object({}), run: () => lines })
  const call = (name: string, input: object) => ({ calls: [{ name, input: input as never }] })

  it('is stored in full, shortened for the model, and read with read_result', async () => {
    const { script, requests } = listening(
      n =>
        [
          call('prints', {}),
          call('read_result', { call_id: 'unknown' }),
          call('read_result', { call_id: requests[0] ? idOf(requests) : '', offset: 30_000, length: 20 }),
          'done',
        ][n]!,
    )
    await using here = await world(script, { tools: { prints } })
    const events = await eventsOf(here.agent.send('talk', 'print'))
    const offered = requests.map(request => (request.tools ?? []).map(one => one.name))
    expect(offered.slice(0, 2)).toEqual([['prints'], ['prints', 'read_result']])
    const ended = events.filter(event => event.type === 'tool_ended')
    const shown = String(resultsIn(requests[1]!)[0])
    expect(shown.length).toBeLessThan(9_000)
    expect(shown).toContain(lines.slice(0, 8_000))
    expect(shown).toContain(`${lines.length} characters in all`)
    // Its shortened form is counted.
    const contexts = events.filter(event => event.type === 'context')
    expect(contexts[1]?.tokens.messages).toBeLessThan(2_500)
    expect(ended[1]).toMatchObject({
      isError: true,
      output: expect.stringContaining('no result of a call "unknown"'),
    })
    expect(String(ended[2]?.output).slice(0, 20)).toBe(lines.slice(30_000, 30_020))
    const { branch } = (await here.store.findByKey('talk'))!
    const stored = (await pathOf(here.store, branch.head!)).find(message => message.role === 'tool_result')
    expect(stored?.content[0]).toMatchObject({ output: lines })
  })

  it('that is an image reaches the model as an image', async () => {
    const picture = [{ type: 'image', mime: 'image/png', data: 'A'.repeat(12_000) }]
    const draws = tool({ description: '', input: z.object({}), run: () => picture })
    const { script, requests } = listening(n => [call('draws', {}), 'drawn'][n]!)
    await using here = await world(script, { tools: { draws } })
    await here.agent.ask('talk', 'draw')
    expect(resultsIn(requests[1]!)).toEqual([picture])
    const { branch } = (await here.store.findByKey('talk'))!
    const stored = (await pathOf(here.store, branch.head!)).find(message => message.role === 'tool_result')
    expect(stored?.tokens).toBe(1_000)
  })

  it('is read by another agent, which has only its beginning in memory', async () => {
    const first = listening(n => [call('prints', {}), 'printed'][n]!)
    await using here = await world(first.script, { tools: { prints } })
    await here.agent.ask('talk', 'print')
    const id = idOf(first.requests)
    const second = listening(
      n => [call('read_result', { call_id: id, offset: 40_000, length: 10 }), 'read'][n]!,
    )
    const other = here.another(second.script)
    const ended = (await eventsOf(other.send('talk', 'continue'))).filter(
      event => event.type === 'tool_ended',
    )
    const shown = String(resultsIn(second.requests[0]!)[0])
    expect(shown.length).toBeLessThan(2_000)
    const hint = `\n\n[only the beginning is shown: read_result with call_id ${JSON.stringify(id)} and offset 1024 reads on]`
    expect(shown).toBe(lines.slice(0, 1_024) + hint)
    expect(String(ended[0]?.output).slice(0, 10)).toBe(lines.slice(40_000, 40_010))
  })

  function resultsIn(request: ModelRequest): unknown[] {
    return blocksOf(request, 'tool_result').map(block => block.output)
  }

  function idOf(requests: readonly ModelRequest[]): string {
    return String(blocksOf(requests.at(-1)!, 'tool_call')[0]?.callId)
  }
})
