import { describe, expect, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { openStore } from '../../src/index.ts'
import { openModel } from '../../src/models/open.ts'
import { startModelServer } from '../support/models/server.ts'
import { world } from './build.ts'

describe('the model options of an agent', () => {
  it('are sent with every call, and those of one message take precedence over them', async () => {
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest) => {
      requests.push(request)
      return 'ok'
    }
    const providerOptions = { acme: { effort: 'low', cache: true } }
    await using here = await world(script, { temperature: 0.7, seed: 1, providerOptions })
    await here.agent.ask('talk', 'one')
    await here.agent.ask('talk', 'two', {
      temperature: 0.2,
      topP: 0.5,
      stop: ['END'],
      maxOutput: 50,
      providerOptions: { acme: { effort: 'high' } },
    })
    expect(requests[0]).toMatchObject({ temperature: 0.7, seed: 1, providerOptions })
    expect(requests[0]).not.toHaveProperty('topP')
    expect(requests[1]).toMatchObject({ temperature: 0.2, seed: 1, topP: 0.5, stop: ['END'], maxOutput: 50 })
    expect(requests[1]?.providerOptions).toEqual({ acme: { effort: 'high', cache: true } })
    await here.agent.ask('talk', 'three')
    expect(requests[2]).toMatchObject({ temperature: 0.7 })
    expect(requests[2]).not.toHaveProperty('maxOutput')
  })

  it('reserve the output of one message in its window', async () => {
    await using here = await world(undefined, { window: { limit: 1_000 } })
    const budgets: number[] = []
    for (const options of [{}, { maxOutput: 300 }]) {
      for await (const event of here.agent.send('talk', 'hi', options))
        if (event.type === 'context') budgets.push(event.tokens.budget)
    }
    expect(budgets).toEqual([800, 500])
  })

  it.each([
    ['temperature', -1],
    ['temperature', Number.NaN],
    ['topP', 1.5],
    ['maxOutput', 0],
    ['seed', 0.5],
    ['stop', ['']],
  ])('are refused if no provider accepts them: %s %j', async (name, value) => {
    await using here = await world()
    expect(() => here.agent.send('talk', 'hi', { [name]: value })).toThrow(
      expect.objectContaining({ field: name }),
    )
    await expect(world(undefined, { [name]: value })).rejects.toMatchObject({ code: 'invalid', field: name })
  })
})

describe('the counts of a provider', () => {
  it('are stored with the answer, and the turn has the name that the model was opened with (S2-27)', async () => {
    const server = await startModelServer({
      reply: ({ n }) => {
        if (n === 1) return { status: 401 }
        return { parts: [{ text: 'Two words.' }], usage: { input: 12, output: 777 } }
      },
    })
    await using store = await openStore(':memory:')
    const name = 'anthropic/claude-sonnet-5-5'
    const model = await openModel(name, { env: {}, keys: { anthropic: 'k' }, baseUrls: server.baseUrls })
    await using agent = createAgent({ store, model })
    await agent.ask('talk', 'hi')
    const { conversation, branch } = (await store.findByKey('talk'))!
    const [question, answer] = await pathOf(store, branch.head!)
    expect(answer).toMatchObject({ role: 'assistant', tokens: 777, pathTokens: question!.tokens + 777 })
    expect(conversation.tokens).toBe(question!.tokens + 777)

    await expect(agent.ask('talk', 'again')).rejects.toThrow()
    const turns = await collectPages(page => store.listTurns(conversation.id, page))
    expect(turns.map(({ model, status }) => [model, status])).toEqual([
      [name, 'complete'],
      [name, 'failed'],
    ])
    await server.close()
  })

  it('leave out reasoning, which is not sent back; without a count, the text is counted', async () => {
    const replies = [
      { text: 'Yes.', usage: { input: 3, output: 500, reasoning: 460 } },
      { text: 'No, never.', usage: {} },
      { text: 'No, never.', usage: { output: 0 } },
    ]
    await using here = await world(replies)
    for (const words of ['a', 'b', 'c']) await here.agent.ask('talk', words)
    const { branch } = (await here.store.findByKey('talk'))!
    const answers = (await pathOf(here.store, branch.head!)).filter(({ role }) => role === 'assistant')
    expect(answers.map(({ tokens }) => tokens)).toEqual([40, 3, 3])
  })
})
