import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/tools/tool.ts'
import type { Holder } from '../../src/core/errors.ts'
import type { NewEvent } from '../../src/core/event.ts'
import type { NewMessage, NonEmpty } from '../../src/core/message.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { collectPages } from '../../src/core/pages.ts'
import { type Store, textOf } from '../../src/index.ts'
import { thisHolder } from '../../src/system/holder.ts'
import { blocksOf, eventsOf, said, statuses, world } from './build.ts'

/** A process of this machine that is surely dead: it ran before the last boot. */
const dead: Holder = { ...thisHolder(), boot: 'before-the-last-one' }

/** A turn that a dead process has left open. */
async function leave(store: Store, messages: NonEmpty<NewMessage>, started: readonly string[] = []) {
  const { branch, conversation } = await store.findOrCreate('talk')
  const { head } = await store.append(branch, null, messages, {
    turn: { key: 'left', step: 0, status: 'open', holder: dead },
  })
  const events = started.map(
    (call): NewEvent => ({ type: 'tool_started', data: { call, name: '', message: head } }),
  )
  if (events.length > 0) await store.addEvents(conversation.id, events)
  return conversation
}

const question: NewMessage = { role: 'user', content: 'Do it.' }
const calls = (...ids: string[]): NewMessage => ({
  role: 'assistant',
  content: ids.map(id => ({ type: 'tool_call', callId: id, name: id.replace(/\d/, ''), input: {} })),
})

function tools() {
  const runs: string[] = []
  const make = (name: string, repeatable: boolean) =>
    tool({
      description: '',
      input: z.object({}),
      repeatable,
      run: (_, { callId }) => {
        runs.push(callId)
        return `${name} done`
      },
    })
  return { runs, tools: { once: make('once', false), again: make('again', true) } }
}

describe('an interrupted turn', () => {
  it('is answered if only the question is stored', async () => {
    await using here = await world(['Here I am.'])
    await leave(here.store, [question])
    const [started, resumed] = (await eventsOf(here.agent.resume('talk'))).map(event => event)
    expect(started?.type).toBe('started')
    expect(resumed).toMatchObject({ type: 'resumed', at: 'question', run: [], unknown: [] })
    expect(await said(here.store, 'talk')).toEqual(['user: Do it.', 'assistant: Here I am.'])
    // It is the same turn, and it is complete.
    expect(await statuses(here.store, 'talk')).toEqual(['complete'])
  })

  it('runs tools that had not started, and repeatable ones, and no others (R27, rule 10)', async () => {
    const { runs, tools: given } = tools()
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest) => {
      requests.push(request)
      return 'I continued.'
    }
    await using here = await world(script, { tools: given })
    await leave(here.store, [question, calls('once1', 'again1', 'once2')], ['once1', 'again1'])
    const events = await eventsOf(here.agent.resume('talk'))
    const resumed = events.find(event => event.type === 'resumed')
    expect(resumed?.run.map(call => call.callId)).toEqual(['again1', 'once2'])
    expect(resumed?.unknown.map(call => call.callId)).toEqual(['once1'])
    expect(runs).toEqual(['again1', 'once2'])
    const results = blocksOf(requests[0]!, 'tool_result')
    expect(results.map(result => [result.callId, result.output])).toEqual([
      ['once1', expect.stringContaining('outcome unknown')],
      ['again1', 'again done'],
      ['once2', 'once done'],
    ])
    // The synthetic result for the model is not stored.
    expect(await said(here.store, 'talk')).toEqual([
      'user: Do it.',
      'assistant: [once] [again] [once]',
      'tool_result: "again done"',
      'tool_result: "once done"',
      'assistant: I continued.',
    ])
  })

  it('runs a tool whose call id recurs in an earlier message', async () => {
    const { runs, tools: given } = tools()
    await using here = await world(['ok'], { tools: given })
    const { id } = await leave(here.store, [question, calls('once1')])
    await here.store.addEvents(id, [
      { type: 'tool_started', data: { call: 'once1', name: 'once', message: 'another' } },
    ])
    await here.agent.resume('talk').result()
    expect(runs).toEqual(['once1'])
  })

  it('traces how it was resumed (rule 8)', async () => {
    const { tools: given } = tools()
    await using here = await world(['ok'], { tools: given })
    const { id } = await leave(here.store, [question, calls('once1', 'once2')], ['once1'])
    await here.agent.resume('talk').result()
    const [event] = await collectPages(page => here.store.listEvents(id, { types: ['resume'], ...page }))
    expect(event?.data).toEqual({ at: 'results', run: ['once'], unknown: ['once'] })
  })

  it('does not run its tools twice if it is resumed twice', async () => {
    const { runs, tools: given } = tools()
    await using here = await world([{ fail: 500 }, 'ok'], { tools: given })
    await leave(here.store, [question, calls('once1')])
    await expect(here.agent.resume('talk').result()).rejects.toThrow()
    expect((await here.agent.resume('talk').result()).text).toBe('ok')
    expect(runs).toEqual(['once1'])
  })

  it('is continued by one of many processes, and its tools run once (R27)', async () => {
    const { runs, tools: given } = tools()
    await using here = await world(['ok'], { tools: given })
    await leave(here.store, [question, calls('once1', 'again1')])
    const agents = Array.from({ length: 8 }, () => here.another(['ok'], { tools: given }))
    const runsOfAll = agents.map(agent => agent.resume('talk', { onBusy: 'refuse' }).result())
    const results = await Promise.allSettled(runsOfAll)
    expect(results.filter(result => result.status === 'fulfilled').length).toBe(1)
    expect(runs).toEqual(['once1', 'again1'])
    expect((await said(here.store, 'talk')).length).toBe(5)
  })

  it('with a complete answer is ended, and the answer is returned', async () => {
    await using here = await world(['asked again'])
    await leave(here.store, [question, { role: 'assistant', content: 'It is done.' }])
    const reply = await here.agent.resume('talk').result()
    expect([reply.text, reply.status, reply.steps]).toEqual(['It is done.', 'complete', 0])
    expect(await statuses(here.store, 'talk')).toEqual(['complete'])
    await expect(here.agent.resume('talk').result()).rejects.toMatchObject({ code: 'invalid' })
  })

  it('continues in the middle of an answer with a nudge that is not stored', async () => {
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest) => {
      requests.push(request)
      return 'and the rest.'
    }
    await using here = await world(script)
    const { id } = await leave(here.store, [question])
    await here.store.putDraft(id, 'left', dead, [{ n: 0, type: 'text', text: 'The beginning' }])
    await here.agent.resume('talk').result()
    const sent = requests[0]!.messages.map(message => `${message.role}: ${textOf(message)}`)
    expect(sent.slice(0, 2)).toEqual(['user: Do it.', 'assistant: The beginning'])
    expect(sent[2]).toContain('was interrupted')
    expect(await said(here.store, 'talk')).toEqual([
      'user: Do it.',
      'assistant: The beginning',
      'assistant: and the rest.',
    ])
  })

  it('is part of the context of a new message', async () => {
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest) => {
      requests.push(request)
      return 'ok'
    }
    const { runs, tools: given } = tools()
    await using here = await world(script, { tools: given })
    await leave(here.store, [question, calls('once1')])
    await here.agent.ask('talk', 'Never mind.')
    expect(runs).toEqual([])
    expect(requests[0]?.messages.map(message => message.role)).toEqual([
      'user',
      'assistant',
      'tool_result',
      'user',
    ])
  })
})

it('refuses to resume a complete turn, and leaves the branch free', async () => {
  await using here = await world(['one', 'two'])
  await here.agent.ask('talk', 'hello')
  await expect(here.agent.resume('talk').result()).rejects.toMatchObject({ code: 'invalid' })
  await expect(here.agent.resume('never met').result()).rejects.toMatchObject({ code: 'not_found' })
  expect(await here.store.findByKey('never met')).toBe(null)
  expect((await here.agent.ask('talk', 'again')).text).toBe('two')
  expect(await statuses(here.store, 'talk')).toEqual(['complete', 'complete'])
})

it('does not resume a living turn of another process', async () => {
  await using here = await world(['mine'])
  const { branch } = await here.store.findOrCreate('talk')
  const holder = { ...thisHolder(), host: 'elsewhere' }
  await here.store.append(branch, null, [question], { turn: { key: 't', step: 0, status: 'open', holder } })
  const run = here.agent.resume('talk', { onBusy: 'refuse' })
  await expect(run.result()).rejects.toMatchObject({ code: 'busy' })
})
