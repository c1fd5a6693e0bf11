import { generateText, streamText } from 'ai'
import { expect, it } from 'vitest'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { setUp } from './setting.ts'

it.each(['by its key', 'by its branch'] as const)(
  'refuses a call in a conversation of another program, and still reads it: %s',
  async how => {
    const { store, server, model } = await setUp('an answer', 'an answer')
    const { conversation, branch } = await store.create({ owner: 'claude-code', key: 'theirs' })
    await store.append(branch, null, [{ role: 'user', content: 'their question' }])
    const before = await store.getConversation(conversation.id)
    const recorded = recordTo(store, how === 'by its key' ? 'theirs' : branch)
    const call = { model: recorded(model()), system: 'Be terse.', maxRetries: 0 }
    const refusal = { code: 'owned', owner: 'claude-code', conversationId: conversation.id }
    await expect(generateText({ ...call, prompt: 'mine' })).rejects.toMatchObject(refusal)
    const reported: unknown[] = []
    const onError = ({ error }: { error: unknown }) => void reported.push(error)
    await streamText({ ...call, prompt: 'mine', onError }).consumeStream()
    expect(reported).toMatchObject([refusal])
    expect(server.requests).toEqual([])
    expect(await recorded.messages()).toMatchObject([{ role: 'user' }])
    expect(await store.getConversation(conversation.id)).toEqual(before)
  },
)
