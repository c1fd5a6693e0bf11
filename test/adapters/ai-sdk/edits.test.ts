import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { generateText, type ModelMessage } from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ForkedCall } from '../../../src/adapters/ai-sdk/exchanges.ts'
import { recordTo } from '../../../src/adapters/ai-sdk/record-to.ts'
import type { BranchRef } from '../../../src/core/branch.ts'
import { textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import { openStore } from '../../../src/stores/open.ts'
import { count, said, turns } from './setting.ts'

const user = (content: string): ModelMessage => ({ role: 'user', content })
const assistant = (content: string): ModelMessage => ({ role: 'assistant', content })

/** A model that keeps its prompts and returns given answers. */
function parrot(answer: (n: number) => string = n => `answer ${n}`) {
  const prompts: LanguageModelV4Prompt[] = []
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  const model = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'parrot',
    supportedUrls: {},
    async doGenerate({ prompt }: LanguageModelV4CallOptions) {
      prompts.push(prompt)
      const content = [{ type: 'text', text: answer(prompts.length) }]
      return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] }
    },
  } as unknown as LanguageModelV4
  return { model, prompts }
}

async function setUp() {
  const store = await openStore(':memory:')
  const { model, prompts } = parrot()
  const beside: ForkedCall[] = []
  const recorded = recordTo(store, 'example:ai', { onFork: one => beside.push(one) })
  const ask = async (...messages: ModelMessage[]) => {
    const { text } = await generateText({ model: recorded(model), messages })
    return text
  }
  const path = async () => said(store, await recorded.place())
  return { store, recorded, ask, path, prompts, beside }
}

describe('recordTo and a caller that', () => {
  it('adds to its messages: it stays on its branch', async () => {
    const { store, recorded, ask, path, beside } = await setUp()
    const own = [user('a')]
    for (const next of ['b', 'c', 'd']) own.push(assistant(await ask(...own)), user(next))
    expect(await path()).toEqual([
      ...['user: a', 'assistant: answer 1', 'user: b', 'assistant: answer 2'],
      ...['user: c', 'assistant: answer 3'],
    ])
    expect(beside).toEqual([])
    expect(await turns(store, await recorded.place())).toHaveLength(3)
  })

  it('edits a message: it continues on a sibling branch, and can return', async () => {
    const { store, recorded, ask, path, beside } = await setUp()
    await ask(user('a'))
    await ask(user('a'), assistant('answer 1'), user('b'))
    const main = await recorded.place()
    await ask(user('a'), assistant('answer 1'), user('B'))
    const edited = await recorded.place()
    expect(edited.name).toBe('main-2')
    expect(await path()).toEqual(['user: a', 'assistant: answer 1', 'user: B', 'assistant: answer 3'])
    expect(await said(store, main)).toEqual([
      'user: a',
      'assistant: answer 1',
      'user: b',
      'assistant: answer 2',
    ])
    expect(beside.map(({ why, from }) => [why, from.name])).toEqual([['edited', 'main']])

    await ask(user('a'), assistant('answer 1'), user('b'), assistant('answer 2'), user('c'))
    expect((await recorded.place()).name).toBe('main')
    await ask(user('a'), assistant('answer 1'), user('B'), assistant('answer 3'), user('C'))
    expect((await recorded.place()).name).toBe('main-2')
    expect(await count(store, main)).toBe(10)
    const [event] = await collectPages(page =>
      store.listEvents(main.conversationId, { types: ['resume'], ...page }),
    )
    expect(event?.data).toMatchObject({ outcome: 'beside', why: 'edited', from: 'main' })
  })

  it('repeats its last call: the second answer is on a sibling branch', async () => {
    const { store, recorded, ask, path, beside } = await setUp()
    await ask(user('a'))
    await ask(user('a'))
    expect(await path()).toEqual(['user: a', 'assistant: answer 2'])
    expect(beside.map(({ why }) => why)).toEqual(['earlier'])
    expect(await count(store, await recorded.place())).toBe(3)
  })

  it('sends only the newest messages: it stays on its branch', async () => {
    const { store, recorded, ask, path, beside } = await setUp()
    await ask(user('a'))
    await ask(user('a'), assistant('answer 1'), user('b'))
    await ask(user('b'), assistant('answer 2'), user('c'))
    await ask(user('c'), assistant('answer 3'), user('d'))
    expect(await path()).toHaveLength(8)
    expect(beside).toEqual([])
    expect(await count(store, await recorded.place())).toBe(8)
  })

  it('begins with an unknown message: it gets a new root, and an event reports it', async () => {
    const { store, recorded, ask, path, beside } = await setUp()
    await ask(user('a'))
    await ask(user('z'))
    expect(await path()).toEqual(['user: z', 'assistant: answer 2'])
    expect(beside.map(({ why, at }) => [why, at])).toEqual([['unknown', null]])
    const { conversationId } = await recorded.place()
    const [event] = await collectPages(page =>
      store.listEvents(conversationId, { types: ['resume'], ...page }),
    )
    expect(event?.data).toMatchObject({ outcome: 'fresh', why: 'unknown' })
  })

  it('has a history of its own: it is stored before the turn', async () => {
    const { store, recorded, ask, path } = await setUp()
    await ask(user('a'), assistant('b'), user('c'))
    expect(await path()).toEqual(['user: a', 'assistant: b', 'user: c', 'assistant: answer 1'])
    expect(await turns(store, await recorded.place())).toEqual(['complete main 2-3'])
  })

  it('continues in another process: it finds its branch, also a sibling', async () => {
    const { store, recorded, ask } = await setUp()
    await ask(user('a'))
    await ask(user('A'))
    const later = recordTo(store, 'example:ai')
    // Also before its first call: the branch that was written last.
    expect(await later.place()).toEqual(await recorded.place())
    expect(await later.messages()).toMatchObject([
      { content: [{ text: 'A' }] },
      { content: [{ text: 'answer 2' }] },
    ])
    await generateText({
      model: later(parrot().model),
      messages: [user('A'), assistant('answer 2'), user('b')],
    })
    expect((await later.place()).name).toBe('main-2')
    expect(await count(store, await recorded.place())).toBe(6)
  })

  it('finds a branch with a key of another caller: it does not use it', async () => {
    const { store, ask, recorded } = await setUp()
    await ask(user('a'))
    const { conversationId } = await recorded.place()
    const path = await pathOf(store, (await store.getBranch(await recorded.place())).head!)
    await store.createBranch(conversationId, path[0]!.id, { name: 'main-2', key: 'another caller' })
    await ask(user('a'))
    expect((await store.findByKey('another caller'))?.branch.head).toBe(path[0]!.id)
  })
})

describe('random changes of a caller to its messages', () => {
  const word = fc.constantFrom('ok', 'yes', 'continue')
  const act = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), at: fc.nat(9), word }) },
    fc.record({
      do: fc.constantFrom('edit' as const, 'trim' as const, 'again' as const),
      at: fc.nat(9),
      word,
    }),
  )

  it('keep the stored path equal to the prompt, and store no question twice under one parent', async () => {
    const forks = { count: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.array(act, { minLength: 2, maxLength: 12 }),
        fc.boolean(),
        async (acts, restarts) => {
          const store = await openStore(':memory:')
          const { model, prompts } = parrot(n => (n % 3 === 0 ? 'same' : `answer ${n}`))
          let recorded = recordTo(store, 'example:ai')
          let own: ModelMessage[] = []
          for (const one of acts) {
            own = change(own, one)
            if (own.at(-1)?.role !== 'user') continue
            if (restarts) recorded = recordTo(store, 'example:ai')
            const { text } = await generateText({ model: recorded(model), messages: own })
            own = [...own, assistant(text)]
            const place = await recorded.place()
            if (place.name !== 'main') forks.count++
            const stored = await said(store, place)
            expect(stored.slice(-own.length)).toEqual(own.map(({ role, content }) => `${role}: ${content}`))
            expect(prompts.at(-1)).toHaveLength(own.length - 1)
            expect(await twins(store, place)).toEqual([])
          }
          const open = (await turns(store, await recorded.place())).filter(
            line => !line.startsWith('complete'),
          )
          expect(open).toEqual([])
          await store.close()
        },
      ),
      { seed: 20_260_102, numRuns: 40 },
    )
    expect(forks.count).toBeGreaterThan(20)
  }, 60_000)

  /** Questions that are stored twice under one message. */
  async function twins(store: Store, { conversationId }: BranchRef): Promise<readonly string[]> {
    const { items } = await store.listMessages({ conversationId, limit: 1_000 })
    const places = items.filter(one => one.role === 'user').map(one => `${one.parentId} ${textOf(one)}`)
    return places.filter((one, i) => places.indexOf(one) !== i)
  }

  function change(
    own: readonly ModelMessage[],
    one: { readonly do: 'ask' | 'edit' | 'trim' | 'again'; readonly at: number; readonly word: string },
  ): ModelMessage[] {
    const at = Math.min(one.at, own.length)
    if (one.do === 'ask') return [...own, user(one.word)]
    if (one.do === 'again') return own.slice(0, at)
    if (one.do === 'trim') return [...own.slice(at), user(one.word)]
    return own.map((message, i) => (i === at ? ({ ...message, content: 'edited' } as ModelMessage) : message))
  }
})
