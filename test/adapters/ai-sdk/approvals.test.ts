import { generateText, isStepCount, type ModelMessage, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { createAgent } from '../../../src/agent/agent.ts'
import type { ApprovalAnswer } from '../../../src/core/approval.ts'
import { ExpiredError } from '../../../src/core/errors.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { scripted } from '../../../src/models/scripted.ts'
import type { Reply } from '../../support/models/reply.ts'
import { count, said, setUp, turns } from './setting.ts'

const key = 'example:ops'
const asks: Reply = { parts: [{ call: { name: 'deploy', input: { service: 'shop' } } }] }
const question = ['user: Deploy the shop.', 'assistant: [deploy {"service":"shop"}]']

/** A store, a model and a tool that notes its runs. `ask` is the first process, `resume` the next one. */
async function asked(...replies: Reply[]) {
  const setting = await setUp(...(replies.length > 0 ? replies : [asks, 'Done.']))
  const { store, model } = setting
  const ran: string[] = []
  const deploy = tool({
    inputSchema: z.object({ service: z.string(), region: z.string().default('eu') }),
    needsApproval: true,
    execute: async ({ service, region }) => {
      ran.push(`${service} ${region}`)
      return `${service} is deployed`
    },
  })
  const look = tool({ inputSchema: z.object({}), execute: async () => 'seen' })
  const tools = { deploy, look }
  const first = recordTo(store, key)
  const ask = () =>
    generateText({
      model: first(model()),
      tools: first.tools(tools),
      prompt: 'Deploy the shop.',
      stopWhen: isStepCount(5),
    })
  const answer = async (given: ApprovalAnswer, comment: string | null = null) => {
    for (const { conversationId, id } of await store.listApprovals())
      await store.answerApproval(conversationId, id, { answer: given, comment })
  }
  const resume = async () => {
    const recorded = recordTo(store, key)
    const interrupted = await recorded.resume()
    if (interrupted === null) return null
    const { messages } = interrupted
    const options = { tools: recorded.tools(tools), messages, stopWhen: isStepCount(5) }
    return generateText({ model: recorded(model()), ...options })
  }
  const state = async () => {
    const place = await first.place()
    return [...(await said(store, place)), ...(await turns(store, place))]
  }
  return { ...setting, ran, tools, first, ask, answer, resume, state }
}

describe('a call that needs an approval, through recordTo', () => {
  it('is stored, and runs after another process has answered', async () => {
    const { ask, answer, resume, state, ran, store, first } = await asked()
    await ask()
    expect(await state()).toEqual([...question, 'interrupted main 0-1'])
    const [waiting, ...others] = await first.approvals()
    expect(others).toEqual([])
    expect(waiting).toMatchObject({
      ...{ status: 'pending', name: 'deploy', title: 'deploy shop, eu', kind: 'other' },
      input: { service: 'shop', region: 'eu' },
    })
    expect(await resume()).toBeNull()
    await answer('allow')
    expect((await resume())!.text).toBe('Done.')
    expect(ran).toEqual(['shop eu'])
    expect(await state()).toEqual([
      ...question,
      ...['tool_result: deploy → shop is deployed', 'assistant: Done.', 'complete main 0-3'],
    ])
    expect(await store.listApprovals()).toEqual([])
    expect(await first.approvals()).toEqual([])
    expect(await resume()).toBeNull()
  })

  it('is told to the model with the reason if a person denies it', async () => {
    const { ask, answer, resume, state, ran, server } = await asked()
    await ask()
    await answer('deny', 'not on a Friday')
    expect((await resume())!.text).toBe('Done.')
    expect(ran).toEqual([])
    expect(JSON.stringify(server.requests.at(-1)!.messages)).toContain('not on a Friday')
    expect(await state()).toEqual([
      ...question,
      ...['tool_result: deploy ✗ not on a Friday', 'assistant: Done.', 'complete main 0-3'],
    ])
  })

  it('is stored while an answer is streamed, after that answer', async () => {
    const { first, tools, model, answer, resume, state, store } = await asked()
    const result = streamText({
      model: first(model('anthropic')),
      tools: first.tools(tools),
      prompt: 'Deploy the shop.',
    })
    for await (const part of result.stream)
      if (part.type === 'finish') expect(await store.listApprovals()).toHaveLength(1)
    expect((await state()).at(-1)).toBe('interrupted main 0-1')
    await answer('allow')
    await resume()
    expect((await state()).at(-1)).toBe('complete main 0-3')
  })

  it('waits until all calls of its answer are answered; others run at once', async () => {
    const call = (service: string) => ({ call: { name: 'deploy', input: { service } } })
    const { ask, resume, state, ran, store } = await asked(
      { parts: [call('shop'), { call: { name: 'look', input: {} } }, call('blog')] },
      'Done.',
    )
    await ask()
    expect((await state()).slice(2)).toEqual(['tool_result: look → seen', 'interrupted main 0-2'])
    const [blog, shop] = await store.listApprovals()
    await store.answerApproval(shop!.conversationId, shop!.id, { answer: 'deny' })
    expect(await resume()).toBeNull()
    await store.answerApproval(blog!.conversationId, blog!.id, { answer: 'allow_always' })
    expect((await resume())!.text).toBe('Done.')
    expect(ran).toEqual(['blog eu'])
    expect((await state()).slice(2)).toEqual([
      'tool_result: look → seen',
      'tool_result: deploy → blog is deployed',
      'tool_result: deploy ✗ The tool was not allowed to run.',
      ...['assistant: Done.', 'complete main 0-5'],
    ])
  })

  it('is withdrawn by the next question, and the model reads that it was not run', async () => {
    const { ask, answer, state, ran, store, server, model } = await asked()
    await ask()
    const [request] = await store.listApprovals()
    const recorded = recordTo(store, key)
    const messages: ModelMessage[] = [
      ...(await recorded.messages()),
      { role: 'user', content: 'Never mind.' },
    ]
    await generateText({ model: recorded(model()), messages })
    expect(JSON.stringify(server.requests.at(-1)!.messages)).toContain('This call was not run')
    expect(await state()).toEqual([
      ...question,
      ...['user: Never mind.', 'assistant: Done.', 'interrupted main 0-1', 'complete main 2-3'],
    ])
    await answer('allow')
    const { conversationId, id } = request!
    expect((await store.getApproval(conversationId, id)).status).toBe('withdrawn')
    await expect(store.answerApproval(conversationId, id, { answer: 'allow' })).rejects.toThrow(ExpiredError)
    expect(ran).toEqual([])
  })
})

describe('an application that answers in its own messages', () => {
  async function own(approved: boolean, reason?: string) {
    const setting = await asked()
    const { content, responseMessages } = await setting.ask()
    const { approvalId } = content.find(part => part.type === 'tool-approval-request')!
    const messages: ModelMessage[] = [
      { role: 'user', content: 'Deploy the shop.' },
      ...responseMessages,
      {
        role: 'tool',
        content: [
          { type: 'tool-approval-response', approvalId, approved, ...(reason !== undefined && { reason }) },
        ],
      },
    ]
    const recorded = recordTo(setting.store, key)
    const { model, tools } = setting
    const send = () =>
      generateText({
        model: recorded(model()),
        tools: recorded.tools(tools),
        messages,
        stopWhen: isStepCount(5),
      })
    const stored = async () => {
      const conversationId = (await recorded.place()).conversationId
      const [one] = await setting.store.listApprovals({ conversationId, status: 'any' })
      return [one?.status, one?.answer, one?.comment]
    }
    return { ...setting, send, stored }
  }

  it('has its answers stored', async () => {
    const { send, stored, ran, state } = await own(true)
    await send()
    expect([ran, await stored()]).toEqual([['shop eu'], ['answered', 'allow', null]])
    expect((await state()).at(-1)).toBe('complete main 0-3')
  })

  it('has its denials stored', async () => {
    const { send, stored, ran, state } = await own(false, 'too risky')
    await send()
    expect([ran, await stored()]).toEqual([[], ['answered', 'deny', 'too risky']])
    expect((await state()).at(-1)).toBe('complete main 0-3')
  })

  it('does not run a call that another process has denied before', async () => {
    const { send, answer, ran, state } = await own(true)
    await answer('deny', 'no')
    await send()
    expect(ran).toEqual([])
    expect((await state())[2]).toBe('tool_result: deploy ✗ Error: The person did not allow this call: no')
  })

  it('does not run a call twice', async () => {
    const { send, ran, state, store, first } = await own(true)
    await send()
    const before = await state()
    await expect(send()).rejects.toThrow(ExpiredError)
    expect([ran, await state()]).toEqual([['shop eu'], before])
    expect(await count(store, await first.place())).toBe(4)
  })
})

describe('other ways to ask', () => {
  it.each([
    ['for one tool', { deploy: 'user-approval' }],
    ['by a function', { deploy: async () => ({ type: 'user-approval', reason: 'costs money' }) }],
    ['for all tools', async () => 'user-approval'],
  ])('are stored with the option toolApproval %s', async (_, given) => {
    const { store, model } = await setUp(asks, 'Done.')
    let runs = 0
    // A plain function must not run before its start is stored.
    const execute = ({ service }: { service: string }) => `${service} ${++runs}`
    const tools = { deploy: tool({ inputSchema: z.object({ service: z.string() }), execute }) }
    const call = async (messages: ModelMessage[]) => {
      const recorded = recordTo(store, key)
      const toolApproval = recorded.toolApproval(given) as { deploy: 'user-approval' }
      const options = { toolApproval, tools: recorded.tools(tools), messages, stopWhen: isStepCount(5) }
      return generateText({ model: recorded(model()), ...options })
    }
    await call([{ role: 'user', content: 'Deploy the shop.' }])
    const [waiting] = await store.listApprovals()
    expect(waiting).toMatchObject({ name: 'deploy', status: 'pending' })
    await store.answerApproval(waiting!.conversationId, waiting!.id, { answer: 'allow' })
    const { messages } = (await recordTo(store, key).resume())!
    expect((await call(messages)).text).toBe('Done.')
    await expect(call(messages)).rejects.toThrow(ExpiredError)
    expect(runs).toBe(1)
  })

  it('are not taken for approved: needsApproval that returns false, or fails', async () => {
    const { store, model } = await setUp(asks, 'Done.', asks)
    const recorded = recordTo(store, key)
    let fails = false
    const deploy = tool({
      inputSchema: z.object({ service: z.string() }),
      needsApproval: () => {
        if (fails) throw new Error('no policy')
        return false
      },
      execute: async () => 'deployed',
    })
    const ask = (prompt: string) =>
      generateText({
        model: recorded(model()),
        tools: recorded.tools({ deploy }),
        prompt,
        stopWhen: isStepCount(2),
      })
    expect((await ask('one')).text).toBe('Done.')
    fails = true
    await expect(ask('two')).rejects.toThrow('no policy')
    expect(await store.listApprovals()).toEqual([])
    await recorded.end()
  })
})

describe('an agent without the tool of an approved call', () => {
  it('does not resume the turn of the program that has it', async () => {
    const { ask, answer, resume, store, state, ran } = await asked()
    await ask()
    await answer('allow')
    await using agent = createAgent({ store, model: scripted({ script: ['no'] }) })
    await expect(agent.resume(key).result()).rejects.toThrow('deploy')
    expect((await state()).slice(0, 2)).toEqual(question)
    await resume()
    expect(ran).toEqual(['shop eu'])
    expect((await state()).at(-1)).toBe('complete main 0-3')
    const { conversationId } = (await store.findByKey(key))!.branch
    const events = await collectPages(page => store.listEvents(conversationId, page))
    expect(events.map(event => event.type)).toContain('approval_requested')
  })
})
