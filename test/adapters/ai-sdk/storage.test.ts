import type { LanguageModelV4 } from '@ai-sdk/provider'
import { generateText } from 'ai'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import { UnavailableError } from '../../../src/core/errors.ts'
import type { Store } from '../../../src/core/ports.ts'
import type { Trouble } from '../../../src/recorder/recording.ts'
import { allSaved, unsavedIn } from '../../../src/recorder/waiting-turns.ts'
import { openStore } from '../../../src/stores/open.ts'
import { said, turns } from './setting.ts'

describe('recordTo while storage fails', () => {
  /** A store whose methods of these names fail while `broken.is` is set. */
  async function frail(...names: (keyof Store)[]) {
    const store = await openStore(':memory:')
    onTestFinished(() => store.close())
    const broken = { is: false }
    const proxy = new Proxy(store, {
      get(target, name) {
        const own = Reflect.get(target, name)
        if (!names.includes(name as keyof Store)) return own
        return (...given: unknown[]) =>
          broken.is ? Promise.reject(new UnavailableError('the store is away')) : own.apply(target, given)
      },
    })
    return { store, proxy, broken }
  }

  const answers = (text: string) =>
    ({
      specificationVersion: 'v4',
      provider: 'test',
      modelId: 'test',
      supportedUrls: {},
      doGenerate: async () => ({
        content: [{ type: 'text', text }],
        finishReason: { unified: 'stop', raw: 'stop' },
        usage: { inputTokens: {}, outputTokens: {} },
        warnings: [],
      }),
    }) as unknown as LanguageModelV4

  it('does not fail a call, and stores the missing messages with the next call', async () => {
    const { store, proxy, broken } = await frail('getBranch', 'tail', 'append')
    const troubles: Trouble[] = []
    const recorded = recordTo(proxy, 'example:ai', { onTrouble: trouble => troubles.push(trouble) })
    await recorded.place()
    broken.is = true
    const { text } = await generateText({ model: recorded(answers('one')), prompt: 'a' })
    expect(text).toBe('one')
    expect(troubles.map(({ kind }) => kind)).toEqual(['lost'])
    broken.is = false
    const messages = [
      { role: 'user' as const, content: 'a' },
      { role: 'assistant' as const, content: 'one' },
      { role: 'user' as const, content: 'b' },
    ]
    await generateText({ model: recorded(answers('two')), messages })
    expect(await said(store, await recorded.place())).toEqual([
      ...['user: a', 'assistant: one', 'user: b', 'assistant: two'],
    ])
  })

  it('queues several calls, and stores each message once when storage is back', async () => {
    const { store, proxy, broken } = await frail(
      'append',
      'putDraft',
      'endTurn',
      'addEvents',
      'updateConversation',
    )
    const recorded = recordTo(proxy, 'example:ai')
    const talk: { role: 'user' | 'assistant'; content: string }[] = []
    const call = async (question: string, answer: string) => {
      talk.push({ role: 'user', content: question })
      await generateText({ model: recorded(answers(answer)), messages: talk })
      talk.push({ role: 'assistant', content: answer })
    }
    await call('a', 'one')
    broken.is = true
    await call('b', 'two')
    await call('c', 'three')
    expect(unsavedIn(proxy).messages).toHaveLength(4)
    broken.is = false
    expect(await allSaved(proxy)).toBe(true)
    await call('d', 'four')
    const branch = await recorded.place()
    expect(branch.name).toBe('main')
    expect(await said(store, branch)).toEqual([
      ...['user: a', 'assistant: one', 'user: b', 'assistant: two'],
      ...['user: c', 'assistant: three', 'user: d', 'assistant: four'],
    ])
  })

  it('waits for storage in the middle of a call', async () => {
    const { store, proxy, broken } = await frail('append')
    const troubles: string[] = []
    const recorded = recordTo(proxy, 'example:ai', {
      onTrouble({ kind }) {
        troubles.push(kind)
        broken.is = false
      },
    })
    const model = answers('one')
    const slow = {
      ...model,
      async doGenerate(params: Parameters<LanguageModelV4['doGenerate']>[0]) {
        broken.is = true
        return model.doGenerate(params)
      },
    } as LanguageModelV4
    await generateText({ model: recorded(slow), prompt: 'a' })
    const place = await recorded.place()
    expect(await said(store, place)).toEqual(['user: a', 'assistant: one'])
    expect(await turns(store, place)).toEqual(['complete main 0-1'])
    expect(troubles).toEqual(['degraded', 'recovered'])
  })

  it('refuses a call only if no conversation can be found or created (S3-78)', async () => {
    const { proxy, broken } = await frail('findOrCreate')
    broken.is = true
    const recorded = recordTo(proxy, 'example:ai')
    const asking = generateText({ model: recorded(answers('one')), prompt: 'a', maxRetries: 0 })
    await expect(asking).rejects.toMatchObject({ code: 'unavailable' })
    broken.is = false
    expect((await generateText({ model: recorded(answers('one')), prompt: 'a' })).text).toBe('one')
  })
})
