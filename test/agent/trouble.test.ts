import { describe, expect, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import type { AgentEvent } from '../../src/agent/events.ts'
import { UnavailableError } from '../../src/core/errors.ts'
import { openStore, type Store } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { adder, eventsOf, said } from './build.ts'

/** A real store that can be cut off, as a database behind a network is. */
async function mortal() {
  const inner = await openStore(':memory:')
  const line = { cut: false }
  const store = new Proxy(inner, {
    get(target, name) {
      const method = target[name as keyof Store] as (...args: unknown[]) => Promise<unknown>
      return async (...args: unknown[]) => {
        if (line.cut) throw new UnavailableError('the line is cut')
        return method.apply(target, args)
      }
    },
  })
  return { store, inner, line, [Symbol.asyncDispose]: () => inner.close() }
}

const troubles = (events: readonly AgentEvent[]) =>
  events.flatMap(event => (event.type === 'trouble' ? [event.trouble.kind] : []))

describe('a store that fails', () => {
  it('in the middle of a turn does not stop it: the person is told once, and all is stored in the end (S1-39)', async () => {
    await using here = await mortal()
    const script = (_: unknown, call: number) => {
      here.line.cut = call === 0
      return call === 0 ? { calls: [{ name: 'add', input: { a: 1, b: 2 } }] } : 'It is 3.'
    }
    const agent = createAgent({ store: here.store, model: scripted({ script }), tools: { add: adder } })
    const run = agent.send('talk', 'what is 1 + 2?')
    const events = await eventsOf(run)
    expect(await run.result()).toMatchObject({
      text: 'It is 3.',
      status: 'complete',
      saved: true,
      unsaved: [],
    })
    expect(troubles(events)).toEqual(['degraded', 'recovered'])
    expect(await said(here.inner, 'talk')).toEqual([
      'user: what is 1 + 2?',
      'assistant: [add]',
      'tool_result: 3',
      'assistant: It is 3.',
    ])
  })

  it('before the model is called: the person is told that the words are not kept, and is answered from memory', async () => {
    await using here = await mortal()
    const agent = createAgent({ store: here.store, model: scripted() })
    await agent.ask('talk', 'My dog is called Rex.')
    here.line.cut = true
    const run = agent.send('talk', 'What did I say first?')
    const order: string[] = []
    for await (const event of run) {
      if (event.type === 'trouble') order.push(event.trouble.kind)
      if (event.type === 'context') order.push('asked')
      if (event.type === 'text') here.line.cut = false
    }
    expect(order.indexOf('unsaved')).toBeLessThan(order.indexOf('asked'))
    const reply = await run.result()
    expect(reply.text).toContain('Rex')
    expect(reply.saved).toBe(true)
    expect((await said(here.inner, 'talk')).length).toBe(4)
  })

  it('to the end leaves the caller with what is not stored', async () => {
    await using here = await mortal()
    const script = () => {
      here.line.cut = true
      return 'An answer.'
    }
    const agent = createAgent({ store: here.store, model: scripted({ script }) })
    const reply = await agent.ask('talk', 'hello')
    expect([reply.saved, reply.unsaved.map(message => message.role)]).toEqual([false, ['assistant']])
    expect(await said(here.inner, 'talk')).toEqual(['user: hello'])
  })

  it('from the start is an error: no silent beginning without a memory (S3-78, rule 8)', async () => {
    await using here = await mortal()
    here.line.cut = true
    const agent = createAgent({ store: here.store, model: scripted() })
    await expect(agent.ask('talk', 'hello')).rejects.toMatchObject({ code: 'unavailable' })
  })
})
