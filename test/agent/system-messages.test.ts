import { expect, it } from 'vitest'
import { createAgent } from '../../src/agent/agent.ts'
import type { ModelRequest } from '../../src/core/model.ts'
import { openStore, textOf } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted.ts'

it('sends a stored system message at its place in the path, and its own system prompt besides (S0-9, S2-11)', async () => {
  await using store = await openStore(':memory:')
  const { branch, conversation } = await store.create({ key: 'k' })
  const { ids } = await store.append(branch, null, [
    { role: 'system', content: 'You are a pirate.' },
    { role: 'user', content: 'Hello.' },
    { role: 'assistant', content: 'Ahoy.' },
  ])
  expect(ids).toHaveLength(3)
  expect((await store.getConversation(conversation.id)).prompt).toBeNull()
  const requests: ModelRequest[] = []
  const inner = scripted({ script: ['Arr.'] })
  const model = {
    ...inner,
    stream(request: ModelRequest) {
      requests.push(request)
      return inner.stream(request)
    },
  }
  await using agent = createAgent({ store, model, system: 'Be terse.' })
  await agent.ask('k', 'Again.')
  const [request] = requests
  expect(request!.messages.map(message => `${message.role}: ${textOf(message)}`)).toEqual([
    'system: Be terse.',
    'system: You are a pirate.',
    'user: Hello.',
    'assistant: Ahoy.',
    'user: Again.',
  ])
  // The agent's own prompt is the record, and no message.
  expect((await store.getConversation(conversation.id)).prompt?.text).toBe('Be terse.')
  const { items } = await store.listMessages({ conversationId: conversation.id, roles: ['system'] })
  expect(items.map(textOf)).toEqual(['You are a pirate.'])
})
