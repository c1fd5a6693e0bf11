import { generateText } from 'ai'
import { expect, it } from 'vitest'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { said, setUp } from './setting.ts'

it('takes leading system messages out of a prompt, and gives stored ones back (S0-9, S2-11)', async () => {
  const { store, model } = await setUp('Arr.', 'Arr again.')
  const { branch } = await store.create({ key: 'imported' })
  await store.append(branch, null, [
    { role: 'system', content: 'You are a pirate.' },
    { role: 'user', content: 'Hello.' },
    { role: 'assistant', content: 'Ahoy.' },
  ])
  const recorded = recordTo(store, 'imported')
  const [system, ...messages] = await recorded.messages()
  expect(system).toEqual({ role: 'system', content: 'You are a pirate.' })
  const next = { role: 'user', content: 'Again.' } as const
  await generateText({
    model: recorded(model()),
    system: 'You are a pirate.',
    messages: [...messages, next] as never,
  })
  expect((await recorded.place()).name).toBe('main')
  expect(await said(store, branch)).toEqual([
    'system: You are a pirate.',
    'user: Hello.',
    'assistant: Ahoy.',
    'user: Again.',
    'assistant: Arr.',
  ])
  const { conversation } = (await store.findByKey('imported'))!
  expect(conversation.prompt?.text).toBe('You are a pirate.')
})

it('stores the leading system message of a new conversation as its prompt, not as a message (S0-9)', async () => {
  const { store, model } = await setUp('Hello!')
  const recorded = recordTo(store, 'new')
  await generateText({ model: recorded(model()), system: 'Be terse.', prompt: 'Hi' })
  expect(await said(store, await recorded.place())).toEqual(['user: Hi', 'assistant: Hello!'])
  expect((await store.findByKey('new'))!.conversation.prompt?.text).toBe('Be terse.')
})
