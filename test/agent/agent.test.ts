import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { tool } from '../../src/agent/tools/tool.ts'
import { ModelError } from '../../src/core/errors.ts'
import { sha256Hex } from '../../src/core/hash.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { collectPages } from '../../src/core/pages.ts'
import { pathOf } from '../../src/core/path.ts'
import { textOf } from '../../src/index.ts'
import { adder, said, statuses, told, world } from './build.ts'

const add = (a: number, b: number) => ({ calls: [{ name: 'add', input: { a, b } }] })

describe('a conversation with an agent', () => {
  it('is remembered, also by another agent on the same store (S0-2, S1-31)', async () => {
    await using here = await world()
    await here.agent.ask('talk', 'My dog is called Rex.')
    await here.agent.close()
    const { text } = await here.another().ask('talk', 'What did I say first?')
    expect(text).toContain('My dog is called Rex.')
  })

  it('is stored by key: two keys are two conversations', async () => {
    await using here = await world()
    await here.agent.ask('discord:dm:1', 'My dog is called Rex.')
    const { text } = await here.agent.ask('discord:dm:2', 'What did I say first?')
    expect(text).not.toContain('Rex')
  })

  it('can be addressed by its branch, and continues there (S1-30)', async () => {
    await using here = await world(['one', 'two'])
    const { branch } = await here.agent.ask('talk', 'first')
    const second = await here.agent.ask(branch!, 'second')
    expect(await said(here.store, 'talk')).toEqual([
      'user: first',
      'assistant: one',
      'user: second',
      'assistant: two',
    ])
    expect(second.head).toBe((await here.store.getBranch(branch!)).head)
  })

  it('is created with the properties of the target', async () => {
    await using here = await world(['ok'])
    await here.agent.ask({ key: 'work', title: 'Build is red', directory: '/src' }, 'why?')
    const found = await here.store.findByKey('work')
    expect(found?.conversation).toMatchObject({ title: 'Build is red', directory: '/src' })
  })

  it('stores the system prompt next to the messages, and its hash with each turn', async () => {
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest) => {
      requests.push(request)
      return 'ok'
    }
    await using here = await world(script, { system: 'Be brief.' })
    await here.agent.ask('talk', 'hello')
    const { conversation } = (await here.store.findByKey('talk'))!
    expect(conversation.prompt?.text).toBe('Be brief.')
    const [turn] = await collectPages(page => here.store.listTurns(conversation.id, page))
    expect([turn?.promptHash, turn?.model, turn?.status]).toEqual([
      sha256Hex('Be brief.'),
      'scripted',
      'complete',
    ])
    expect(requests[0]?.messages[0]).toMatchObject({ role: 'system', content: [{ text: 'Be brief.' }] })
    expect(await said(here.store, 'talk')).toEqual(['user: hello', 'assistant: ok'])
  })
})

describe('the system prompt', () => {
  const prompts = () => {
    const seen: string[] = []
    const script = (request: ModelRequest) => {
      const [first] = request.messages
      seen.push(first?.role === 'system' ? textOf(first) : '')
      return 'ok'
    }
    return { seen, script }
  }

  it('is that of the sending agent, and the newest is stored', async () => {
    const { seen, script } = prompts()
    await using here = await world(script, { system: 'Be brief.' })
    await here.agent.ask('talk', 'one')
    await here.another(script, { system: 'Be kind.' }).ask('talk', 'two')
    await here.another(script).ask('talk', 'three')
    expect(seen).toEqual(['Be brief.', 'Be kind.', ''])
    const { conversation } = (await here.store.findByKey('talk'))!
    expect([conversation.prompt?.text, conversation.model]).toEqual(['Be kind.', 'scripted'])
    const turns = await collectPages(page => here.store.listTurns(conversation.id, page))
    expect(turns.map(turn => turn.promptHash)).toEqual([sha256Hex('Be brief.'), sha256Hex('Be kind.'), null])
  })

  it('is the stored one if the conversation keeps its prompt', async () => {
    const { seen, script } = prompts()
    await using here = await world(script, { system: 'Be brief.' })
    await here.agent.ask({ key: 'talk', promptPolicy: 'stored', prompt: 'You are a pirate.' }, 'one')
    await here.another(script, { system: 'Be kind.' }).ask('talk', 'two')
    expect(seen).toEqual(['You are a pirate.', 'You are a pirate.'])
    expect((await here.store.findByKey('talk'))?.conversation.prompt?.text).toBe('You are a pirate.')
  })
})

describe('an incomplete turn', () => {
  it('keeps the question if the model fails (S3-76)', async () => {
    await using here = await world([{ fail: 500 }])
    await expect(here.agent.ask('talk', 'are you there?')).rejects.toThrow(ModelError)
    expect(await said(here.store, 'talk')).toEqual(['user: are you there?'])
    expect(await statuses(here.store, 'talk')).toEqual(['failed'])
  })

  it('keeps the partial answer if it is aborted, marked as interrupted (S3-76)', async () => {
    const stop = Promise.withResolvers<void>()
    const script = [
      { text: 'one two three four', gate: (n: number) => (n === 2 ? stop.promise : Promise.resolve()) },
    ]
    await using here = await world(script)
    const run = here.agent.send('talk', 'count')
    let pieces = 0
    for await (const event of run) {
      if (event.type === 'text' && ++pieces === 2) {
        run.abort()
        stop.resolve()
      }
    }
    expect(await run.result()).toMatchObject({ status: 'interrupted', stop: 'aborted', text: 'one two' })
    expect(await said(here.store, 'talk')).toEqual(['user: count', 'assistant: one two'])
    expect(await statuses(here.store, 'talk')).toEqual(['interrupted'])
  })

  it('starts no tool after it is aborted', async () => {
    let ran = 0
    const counts = tool({ description: '', input: z.object({}), run: () => ++ran })
    await using here = await world([{ calls: [{ name: 'counts', input: {} }] }], { tools: { counts } })
    const run = here.agent.send('talk', 'go')
    for await (const event of run) if (event.type === 'answered') run.abort()
    expect([(await run.result()).status, ran]).toEqual(['interrupted', 0])
  })

  it('does not wait for a tool that ignores the signal', async () => {
    const stubborn = tool({ description: '', input: z.object({}), run: () => new Promise(() => undefined) })
    await using here = await world([{ calls: [{ name: 'stubborn', input: {} }] }], { tools: { stubborn } })
    const run = here.agent.send('talk', 'go')
    await told(run, 'tool_started')
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    expect(await said(here.store, 'talk')).toEqual(['user: go', 'assistant: [stubborn]'])
  })

  it('leaves the branch free for the next turn, which sees its messages', async () => {
    await using here = await world([{ fail: 500 }])
    await expect(here.agent.ask('talk', 'My cat is called Mia.')).rejects.toThrow()
    expect((await here.agent.ask('talk', 'What did I say first?')).text).toContain('Mia')
  })
})

it('refuses an empty message, and stores nothing', async () => {
  await using here = await world()
  for (const words of ['', ' \n', { role: 'user', content: [{ type: 'text', text: ' ' }] } as const]) {
    expect(() => here.agent.send('talk', words)).toThrow('must not be empty')
  }
  expect(await here.store.findByKey('talk')).toBe(null)
})

describe('a message that is sent twice with one key', () => {
  it('is answered once; the second call returns the stored answer (P4)', async () => {
    await using here = await world(['first answer', 'second answer'])
    const first = await here.agent.ask('talk', 'hello', { key: 'discord:1' })
    const again = await here.another(['asked again']).ask('talk', 'hello', { key: 'discord:1' })
    expect([again.text, again.status, again.head]).toEqual(['first answer', 'complete', first.head])
    expect([again.turn, again.usage]).toEqual(['discord:1', first.usage])
    expect(await said(here.store, 'talk')).toEqual(['user: hello', 'assistant: first answer'])
    expect(await statuses(here.store, 'talk')).toEqual(['complete'])
  })

  it('continues the failed turn of the first call', async () => {
    await using here = await world([{ fail: 500 }, 'now'])
    await expect(here.agent.ask('talk', 'hello', { key: 'k' })).rejects.toThrow()
    expect((await here.agent.ask('talk', 'hello', { key: 'k' })).text).toBe('now')
    expect(await said(here.store, 'talk')).toEqual(['user: hello', 'assistant: now'])
  })

  it('is refused with another text', async () => {
    await using here = await world(['one'])
    await here.agent.ask('talk', 'hello', { key: 'k' })
    await expect(here.agent.ask('talk', 'good bye', { key: 'k' })).rejects.toMatchObject({
      code: 'key_reused',
    })
  })
})

describe('several messages', () => {
  it('to one conversation run one after the other, in the order of the calls', async () => {
    await using here = await world()
    const words = ['one', 'two', 'three', 'four', 'five']
    await Promise.all(words.map(word => here.agent.ask('talk', word)))
    const asked = (await said(here.store, 'talk')).filter(line => line.startsWith('user'))
    expect(asked).toEqual(words.map(word => `user: ${word}`))
    expect((await said(here.store, 'talk')).length).toBe(10)
  })

  it('to different conversations run in parallel', async () => {
    const gate = Promise.withResolvers<void>()
    const script = (request: ModelRequest) =>
      textOf(request.messages.at(-1)!) === 'wait' ? { text: 'waited', gate: () => gate.promise } : 'at once'
    await using here = await world(script)
    const waiting = here.agent.ask('a', 'wait')
    expect((await here.agent.ask('b', 'go')).text).toBe('at once')
    gate.resolve()
    expect((await waiting).text).toBe('waited')
  })

  it('go to the conversation that the key named when they were sent (rule 7)', async () => {
    const gate = Promise.withResolvers<void>()
    await using here = await world([{ text: 'answer', gate: () => gate.promise }])
    const run = here.agent.send('talk', 'question')
    const { branch } = await told(run, 'started')
    await here.store.setKey(branch!, null)
    const other = await here.store.findOrCreate('talk')
    gate.resolve()
    const reply = await run.result()
    expect(reply.branch).toEqual({ conversationId: branch!.conversationId, name: branch!.name })
    expect((await here.store.getBranch(other.branch)).head).toBe(null)
    expect((await pathOf(here.store, reply.head!)).length).toBe(2)
  })

  it('wait for another agent, fork, or are refused, according to onBusy', async () => {
    const gate = Promise.withResolvers<void>()
    await using here = await world([{ text: 'slow', gate: () => gate.promise }])
    const slow = here.agent.send('talk', 'first')
    await told(slow, 'started')
    const other = here.another(['after it'])
    await expect(other.ask('talk', 'second', { onBusy: 'refuse' })).rejects.toMatchObject({ code: 'busy' })
    const waiting = other.send('talk', 'fourth')
    expect(await told(waiting, 'waiting')).toMatchObject({
      holder: { pid: process.pid },
      until: expect.any(Date),
    })
    const beside = here.another(['beside']).send('talk', 'third', { onBusy: 'fork' })
    expect(await told(beside, 'started')).toMatchObject({ forked: true, branch: { name: 'main-2' } })
    await beside.result()
    gate.resolve()
    await slow.result()
    await waiting.result()
    expect(await said(here.store, 'talk')).toEqual([
      'user: first',
      'assistant: slow',
      'user: fourth',
      'assistant: after it',
    ])
  })
})

describe('close', () => {
  it('stops running turns and keeps their messages; the store stays open (S0-42)', async () => {
    await using here = await world([
      { text: 'never ends', gate: n => (n === 1 ? new Promise(() => undefined) : Promise.resolve()) },
    ])
    const run = here.agent.send('talk', 'go')
    await told(run, 'text')
    await here.agent.close()
    expect((await run.result()).status).toBe('interrupted')
    expect(await said(here.store, 'talk')).toEqual(['user: go', 'assistant: never'])
    expect(() => here.agent.send('talk', 'more')).toThrow('closed')
  })

  it('stores the whole turn at its end in the mode at_once, and nothing before (S0-36, S0-37)', async () => {
    const gate = Promise.withResolvers<void>()
    const requests: ModelRequest[] = []
    const script = (request: ModelRequest, call: number) => {
      requests.push(request)
      return call === 0 ? add(1, 2) : { text: 'It is 3.', gate: () => gate.promise }
    }
    await using here = await world(script, { tools: { add: adder }, mode: 'at_once' })
    const run = here.agent.send('sum', 'what is 1 + 2?')
    await told(run, 'tool_ended')
    expect(await said(here.store, 'sum')).toEqual([])
    gate.resolve()
    expect(await run.result()).toMatchObject({ text: 'It is 3.', saved: true })
    expect((await said(here.store, 'sum')).length).toBe(4)
    expect(requests[1]?.messages.map(message => message.role)).toEqual(['user', 'assistant', 'tool_result'])
    const { conversation } = (await here.store.findByKey('sum'))!
    const [turn] = await collectPages(page => here.store.listTurns(conversation.id, page))
    expect([turn?.status, turn?.lastStep]).toEqual(['complete', 0])
  })
})
