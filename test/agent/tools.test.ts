import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgent } from '../../src/agent/agent.ts'
import { tool } from '../../src/agent/tools/tool.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { scripted } from '../../src/models/scripted.ts'
import { adder, eventsOf, said, told, world } from './build.ts'

const add = (a: number, b: number) => ({ calls: [{ name: 'add', input: { a, b } }] })

describe('tools of an agent', () => {
  it('run when the model calls them, and every step is stored in order (S0-34, S1-2, S1-32)', async () => {
    await using here = await world([add(1, 2), 'It is 3.'], { tools: { add: adder } })
    const run = here.agent.send('sum', 'what is 1 + 2?')
    const events = (await eventsOf(run)).map(event => event.type).filter(type => type !== 'text')
    expect(await run.result()).toMatchObject({ text: 'It is 3.', status: 'complete', stop: 'stop', steps: 2 })
    expect(await said(here.store, 'sum')).toEqual([
      'user: what is 1 + 2?',
      'assistant: [add]',
      'tool_result: 3',
      'assistant: It is 3.',
    ])
    expect(events).toEqual([
      ...['started', 'context', 'answered', 'tool_started', 'tool_ended'],
      ...['context', 'answered', 'ended'],
    ])
  })

  it('run in parallel if the model calls several, and each result is stored as it comes', async () => {
    const slow = Promise.withResolvers<void>()
    const waits = tool({
      description: '',
      input: z.object({}),
      run: async () => {
        await slow.promise
        return 'slow'
      },
    })
    const quick = tool({ description: '', input: z.object({}), run: () => 'quick' })
    const calls = [
      { name: 'waits', input: {} },
      { name: 'quick', input: {} },
    ]
    await using here = await world([{ calls }, 'done'], { tools: { waits, quick } })
    const run = here.agent.send('both', 'go')
    expect((await told(run, 'tool_ended')).output).toBe('quick')
    expect(await said(here.store, 'both')).toEqual([
      'user: go',
      'assistant: [waits] [quick]',
      'tool_result: "quick"',
    ])
    slow.resolve()
    await run.result()
    expect((await said(here.store, 'both')).slice(2)).toEqual([
      'tool_result: "quick"',
      'tool_result: "slow"',
      'assistant: done',
    ])
  })

  it('are not run with an invalid input or an unknown name; the model gets an error result', async () => {
    let ran = 0
    const counts = tool({ description: '', input: z.object({ n: z.number() }), run: () => ++ran })
    const calls = [
      { name: 'counts', input: { n: 'three' } },
      { name: 'missing', input: {} },
      { name: 'toString', input: {} },
    ]
    await using here = await world([{ calls }, 'I see.'], { tools: { counts } })
    const ended = (await eventsOf(here.agent.send('odd', 'go'))).filter(event => event.type === 'tool_ended')
    expect(ran).toBe(0)
    expect(ended.map(event => event.isError)).toEqual([true, true, true])
    expect(String(ended[0]?.output)).toMatch(/n/)
    expect(String(ended[1]?.output)).toContain('there is no tool "missing"')
    const { conversation } = (await here.store.findByKey('odd'))!
    expect(
      await collectPages(page =>
        here.store.listEvents(conversation.id, { types: ['tool_started'], ...page }),
      ),
    ).toEqual([])
  })

  it('may fail: the model gets the error, and the turn continues', async () => {
    const fails = tool({
      description: '',
      input: z.object({}),
      run: () => {
        throw new Error('the printer is on fire')
      },
    })
    await using here = await world([{ calls: [{ name: 'fails', input: {} }] }, 'Too bad.'], {
      tools: { fails },
    })
    expect((await here.agent.ask('talk', 'print')).text).toBe('Too bad.')
    const { branch } = (await here.store.findByKey('talk'))!
    const result = (await pathOf(here.store, branch.head!)).find(message => message.role === 'tool_result')
    expect(result?.content).toMatchObject([{ isError: true, output: 'the printer is on fire' }])
  })

  it('leave a stored trace before they start and after they end (R27)', async () => {
    const seen: string[][] = []
    const traces = async () => {
      const { conversation } = (await here.store.findByKey('talk'))!
      return (await collectPages(page => here.store.listEvents(conversation.id, page))).map(
        event => `${event.type} ${event.data.name}`,
      )
    }
    const looks = tool({
      description: '',
      input: z.object({}),
      run: async () => {
        seen.push(await traces())
        return null
      },
    })
    await using here = await world([{ calls: [{ name: 'looks', input: {} }] }, 'ok'], { tools: { looks } })
    await here.agent.ask('talk', 'go')
    expect(seen).toEqual([['tool_started looks']])
    expect(await traces()).toEqual(['tool_started looks', 'tool_ended looks'])
  })

  it('run until the limit of steps is reached', async () => {
    await using here = await world(() => add(1, 1), { tools: { add: adder }, maxSteps: 3 })
    const reply = await here.agent.ask('talk', 'continue forever')
    expect(reply).toMatchObject({ status: 'complete', stop: 'steps', steps: 3 })
    expect((await said(here.store, 'talk')).length).toBe(1 + 3 * 2)
  })

  it('may check their input asynchronously', async () => {
    const input = z.object({ path: z.string().refine(async path => path !== 'secret', 'is not for you') })
    const reads = tool({ description: '', input, run: ({ path }) => `read ${path}` })
    const calls = ['open', 'secret'].map(path => ({ name: 'reads', input: { path } }))
    await using here = await world([{ calls }, 'done'], { tools: { reads } })
    const ended = (await eventsOf(here.agent.send('talk', 'go'))).filter(event => event.type === 'tool_ended')
    expect(ended.map(event => event.isError)).toEqual([true, false])
    expect(ended.map(event => String(event.output))).toEqual([
      expect.stringContaining('is not for you'),
      'read open',
    ])
  })

  it('must have names that providers accept, and that are not reserved', () => {
    expect(() => createAgent({ model: scripted(), tools: { read_result: adder } })).toThrow('read_result')
    expect(() => createAgent({ model: scripted(), tools: { 'no spaces': adder } })).toThrow('"no spaces"')
  })
})
