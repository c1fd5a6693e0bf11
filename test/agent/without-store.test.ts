import { describe, expect, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { textOf } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'
import { adder, told } from './build.ts'

const add = (a: number, b: number) => ({ calls: [{ name: 'add', input: { a, b } }] })

describe('an agent without a store', () => {
  it('remembers while it lives (S0-41, S0-6)', async () => {
    const agent = createAgent({ model: scripted() })
    await agent.ask('talk', 'My dog is called Rex.')
    const reply = await agent.ask('talk', 'What did I say first?')
    expect(reply.text).toContain('Rex')
    expect([reply.branch, reply.head, reply.saved]).toEqual([null, null, true])
    expect((await agent.ask('other', 'What did I say first?')).text).not.toContain('Rex')
  })

  it('also runs turns of one conversation one after the other', async () => {
    const gate = Promise.withResolvers<void>()
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest, call: number) => {
      requests.push(request)
      return call === 0 ? { text: 'first answer', gate: () => gate.promise } : 'second answer'
    }
    const agent = createAgent({ model: scripted({ script }) })
    const first = agent.send('talk', 'first')
    const second = agent.ask('talk', 'second')
    await told(first, 'context')
    gate.resolve()
    await second
    expect(requests[1]?.messages.map(message => textOf(message))).toEqual(['first', 'first answer', 'second'])
  })

  it('begins with the given history (S0-40, S1-34)', async () => {
    const history = [
      { role: 'user', content: 'My dog is called Rex.' },
      { role: 'assistant', content: 'Nice.' },
    ] as const
    const agent = createAgent({ model: scripted(), history })
    expect((await agent.ask('talk', 'What did I say first?')).text).toContain('Rex')
  })

  it('runs tools, and keeps the partial answer of an aborted turn', async () => {
    const stop = Promise.withResolvers<void>()
    const half = { text: 'half of it', gate: (n: number) => (n === 1 ? stop.promise : Promise.resolve()) }
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest, call: number) => {
      requests.push(request)
      return [{ text: 'I will.', ...add(2, 2) }, half, 'continue'][call] ?? null
    }
    const agent = createAgent({ model: scripted({ script }), tools: { add: adder } })
    const run = agent.send('talk', 'go')
    for await (const event of run) {
      if (event.type !== 'text' || event.text !== 'half') continue
      run.abort()
      stop.resolve()
    }
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'half' })
    await agent.ask('talk', 'and?')
    const seen = requests.at(-1)!.messages.map(message => `${message.role} ${textOf(message)}`)
    expect(seen).toEqual(['user go', 'assistant I will.', 'tool_result ', 'assistant half', 'user and?'])
  })
})
