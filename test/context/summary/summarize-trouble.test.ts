import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SummarizeOptions, summarize } from '../../../src/context/summary/summarize.ts'
import type { BranchRef } from '../../../src/core/branch.ts'
import { ModelError } from '../../../src/core/errors.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import type { Store } from '../../../src/core/ports.ts'
import { leaseMs } from '../../../src/core/turn.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { type ToldModel, told } from '../model.ts'

const words = (n: number) => `m${n} `.padEnd(200, '.')

describe('summarize', () => {
  let clock: number
  let store: Store
  let branch: BranchRef
  let ids: MessageId[]

  beforeEach(async () => {
    clock = 1_767_225_600_000
    const source = { now: () => clock, uuid: () => crypto.randomUUID() }
    store = await openSqliteStore(':memory:', { source })
    branch = (await store.create()).branch
    ids = []
  })
  afterEach(() => store.close())

  async function say(...messages: readonly NewMessage[]) {
    const given = messages
    ids.push(...(await store.append(branch, ids.at(-1) ?? null, given)).ids)
  }
  const talk = (from: number, to: number) =>
    say(
      ...Array.from({ length: to - from }, (_, i): NewMessage => {
        return { role: (from + i) % 2 === 0 ? 'user' : 'assistant', content: words(from + i) }
      }),
    )
  const run = (model: ToldModel, options: Partial<SummarizeOptions> = {}) =>
    summarize(
      store,
      { conversationId: branch.conversationId, head: ids.at(-1)! },
      {
        model,
        window: { limit: 10_000 },
        holder: { host: 'h', boot: 'b', pid: 1, startedAt: 1 },
        after: () => () => {},
        ...options,
      },
    )
  const stored = () => collectPages(page => store.listSummaries(branch.conversationId, page))

  it.each([
    ['the model writes it', () => 'it \ud800 was \0 odd'],
    ['the words themselves are', () => Promise.reject(new ModelError('told/small', 'overloaded'))],
  ])('stores a summary if %s no text (R13)', async (_, answer) => {
    await say({ role: 'user', content: 'half \ud800 a pair \0' })
    await say({ role: 'assistant', content: 'a' })
    await talk(2, 30)
    const { summary } = await run(told(answer))
    expect(summary!.text.isWellFormed()).toBe(true)
    expect(summary!.text).not.toContain('\0')
  })

  it('does not summarize the root alone, whose claim is the lock of the conversation', async () => {
    await say(...Array.from({ length: 12 }, (): NewMessage => ({ role: 'user', content: 'again' })))
    const model = told(() => 'short')
    expect(await run(model, { keepRecent: 11 })).toMatchObject({ outcome: 'nothing', summary: null })
    expect(await run(model, { keepRecent: 10 })).toMatchObject({ outcome: 'made', messages: 2 })
    await say({ role: 'user', content: 'again' })
    expect(await run(model, { keepRecent: 10 })).toMatchObject({ outcome: 'made', messages: 1 })
  })

  it('stores no summary of messages that were erased or deleted meanwhile, and can summarize the rest', async () => {
    await talk(0, 30)
    const reason = { by: 'me', reason: 'secret' }
    const erasing = told(async () => {
      await store.eraseMessages([ids[4]!], reason)
      return 'of secrets'
    })
    expect(await run(erasing)).toMatchObject({ outcome: 'busy', usage: { input: 100 } })
    const deleting = told(async () => {
      await store.deleteMessages([ids[10]!], { recursive: true })
      return 'of what is gone'
    })
    clock += leaseMs + 1
    const gone = await run(deleting)
    expect(gone).toMatchObject({ outcome: 'nothing', summary: null, usage: { input: 100 } })
    expect(gone.error).toMatchObject({ code: 'not_found' })
    expect(await stored()).toEqual([])
    ids = ids.slice(0, 10)
    clock += leaseMs + 1
    const rest = await run(
      told(() => 'of the rest'),
      { keepRecent: 4 },
    )
    expect(rest).toMatchObject({ outcome: 'made', messages: 6 })
  })

  it('makes shorter summaries in the second and third generation too', async () => {
    const failing = told(() => Promise.reject(new ModelError('told/small', 'gone')))
    for (let from = 0; from < 90; from += 30) {
      await talk(from, from + 30)
      const { outcome, summary } = await run(failing, { maxTokens: 300 })
      expect(outcome).toBe('extractive')
      expect(summary!.tokens).toBeLessThanOrEqual(300)
      expect(summary!.text).toContain('The user first asked: "m0 ')
      expect(summary!.text).toMatch(new RegExp(`The assistant said last: "m${from + 19} `))
    }
  })
})
