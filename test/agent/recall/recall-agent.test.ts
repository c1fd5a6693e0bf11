import { expect, it } from 'vitest'
import { recallTools } from '../../../src/agent/recall/recall-tools.ts'
import { textOf } from '../../../src/core/message.ts'
import type { ModelRequest } from '../../../src/core/model.ts'
import { said, told, world } from '../build.ts'

it('sends a digest of relevant conversations with a new one, and does not store it (S0-5)', async () => {
  const sent: string[] = []
  const listen = (request: ModelRequest) => {
    sent.push(request.messages.map(message => textOf(message)).join('\n'))
    return 'ok'
  }
  await using here = await world(listen, { recall: true })
  await here.agent.ask('monday', 'The gateway dropped the certificate')
  await here.agent.ask('tuesday', 'Which certificate did the gateway drop?')
  await here.agent.ask('wednesday', 'hello')
  const recalled = sent.map(text => text.includes('Recalled from earlier conversations'))
  expect(recalled).toEqual([false, true, false])
  expect(sent[1]).toContain('User: The gateway dropped the certificate\nAssistant: ok')
  expect(await said(here.store, 'tuesday')).toEqual([
    'user: Which certificate did the gateway drop?',
    'assistant: ok',
  ])
})

it('sends the digest while the first message is in the context', async () => {
  const sent: string[] = []
  const listen = (request: ModelRequest) => {
    sent.push(request.messages.map(message => textOf(message)).join('\n'))
    return 'ok'
  }
  await using here = await world(listen, { recall: true, window: { limit: 2_000 } })
  await here.agent.ask('monday', 'The gateway dropped the certificate')
  await here.agent.ask('tuesday', 'Which certificate did the gateway drop?')
  await here.agent.ask('tuesday', 'And why?')
  for (let i = 0; i < 8; i++) await here.agent.ask('tuesday', `More: ${'and so on '.repeat(80)}`)
  const recalled = sent.slice(1).map(text => text.includes('Recalled from earlier conversations'))
  expect(recalled.slice(0, 2)).toEqual([true, true])
  expect(recalled.at(-1)).toBe(false)
})

it('answers without a digest if the search fails, and reports it', async () => {
  await using here = await world(['ok'])
  const store = new Proxy(here.store, {
    get: (target, name) =>
      name === 'search'
        ? async () => {
            throw new Error('the index is broken')
          }
        : Reflect.get(target, name),
  })
  const run = here
    .another(['ok'], { store, recall: true })
    .send('talk', 'Which certificate did the gateway drop?')
  expect((await told(run, 'recalled')).outcome).toBe('failed')
  expect((await run.result()).text).toBe('ok')
})

it('lets an agent search and read other conversations', async () => {
  await using here = await world(['ok'])
  await here.agent.ask('monday', 'My dog is called Rex')
  const { conversation } = (await here.store.findByKey('monday'))!
  const agent = here.another(
    [
      { calls: [{ name: 'search_conversations', input: { query: 'dog' } }] },
      { calls: [{ name: 'read_conversation', input: { id: conversation.id } }] },
      'It is Rex.',
    ],
    { tools: recallTools(here.store) },
  )
  await agent.ask('tuesday', 'What is the name of my pet?')
  const lines = await said(here.store, 'tuesday')
  expect(lines[2]).toContain('My dog is called Rex')
  expect(lines[4]).toContain('My dog is called Rex\\n\\nAssistant: (#1')
  await agent.close()
})
