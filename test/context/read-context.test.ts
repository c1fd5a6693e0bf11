import { describe, expect, it } from 'vitest'
import { type ReadContextOptions, readContext } from '../../src/context/read-context.ts'
import type { ContextReader } from '../../src/context/summary/newest-summary.ts'
import type { Block } from '../../src/core/block.ts'
import type { BranchRef } from '../../src/core/branch.ts'
import type { Holder } from '../../src/core/errors.ts'
import type { MessageId } from '../../src/core/ids.ts'
import type { Json } from '../../src/core/json.ts'
import { type NewMessage, textOf } from '../../src/core/message.ts'
import type { Store } from '../../src/core/ports.ts'
import { openStore } from '../../src/stores/open.ts'
import { meterSqlite } from '../support/row-meter.ts'

const holder: Holder = { host: 'h', boot: 'b', pid: 1, startedAt: 1 }
/** 100 tokens each: ten of them, which are five exchanges, fill the window below. */
const words = (i: number) => `m${i} `.padEnd(400, '.')
const window = { limit: 1_250, keepRecent: 2 }
const name = (message: { content: readonly Block[] }) => textOf(message).split(' ')[0]!

async function talk(store: Store, branch: BranchRef, from: MessageId | null, numbers: readonly number[]) {
  const ids: MessageId[] = []
  let head = from
  for (let at = 0; at < numbers.length; at += 1_000) {
    const messages = numbers
      .slice(at, at + 1_000)
      .map((n, i): NewMessage => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: words(n) }))
    const appended = await store.append(branch, head, messages)
    head = appended.head
    ids.push(...appended.ids)
  }
  return ids
}
const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i)

async function conversation(count: number, store?: Store) {
  const opened = store ?? (await openStore(':memory:'))
  const { branch } = await opened.create()
  return { store: opened, branch, ids: await talk(opened, branch, null, upTo(count)) }
}

async function summarised(store: Store, branch: BranchRef, first: MessageId, last: MessageId, text: string) {
  const id = branch.conversationId
  await store.claimSummary(id, { first, last }, holder)
  return store.putSummary(id, { first, last, text, tokens: 5, holder, model: 'small' })
}

/** Counts the calls of a store. */
function counted(store: Store) {
  const calls: Record<PropertyKey, number> = {}
  const reader = new Proxy(store, {
    get(target, method: Exclude<keyof Store, symbol>) {
      calls[method] = (calls[method] ?? 0) + 1
      return (target[method] as (...args: unknown[]) => unknown).bind(target)
    },
  })
  return { reader: reader as ContextReader, calls }
}

async function shown(store: Store, head: MessageId, options: ReadContextOptions = {}) {
  const { fitted } = await readContext(store, head, window, {}, options)
  return fitted.messages.map(name)
}

describe('readContext', () => {
  it('returns the whole conversation if it fits (S2-41)', async () => {
    const { store, ids } = await conversation(4)
    const read = await readContext(store, ids[3]!, window, { system: 'Be kind.' })
    expect(read.fitted.messages.map(name)).toEqual(['Be', 'm0', 'm1', 'm2', 'm3'])
    expect(read).toMatchObject({ older: 0, olderTokens: 0, summary: null })
    expect(read.uncovered).toEqual({ messages: 4, tokens: 400 })
    await store.close()
  })

  it('returns only the pinned texts of an empty conversation', async () => {
    const store = await openStore(':memory:')
    const read = await readContext(store, null, window, { system: 'Be kind.' })
    expect(read.fitted.messages.map(textOf)).toEqual(['Be kind.'])
    expect(read).toMatchObject({
      messages: [],
      older: 0,
      summary: null,
      uncovered: { messages: 0, tokens: 0 },
    })
    await store.close()
  })

  it('returns the newest messages that fit, and the number of older ones (S2-43)', async () => {
    const { store, ids } = await conversation(1_000)
    const read = await readContext(store, ids[999]!, window, { system: 'Be kind.' })
    expect(read.fitted.messages.map(textOf).slice(0, 2)).toEqual([
      'Be kind.',
      '[Note: 992 older messages truncated to stay within token limit]',
    ])
    expect(read.fitted.messages.map(name).slice(2)).toEqual(upTo(8, 992).map(n => `m${n}`))
    expect(read.older + read.messages.length).toBe(1_000)
    expect(read.olderTokens).toBe(read.older * 100)
    await store.close()
  })

  it('returns everything without a limit', async () => {
    const { store, ids } = await conversation(40)
    const read = await readContext(store, ids[39]!, { limit: Number.POSITIVE_INFINITY })
    expect(read.fitted.messages).toHaveLength(40)
    await store.close()
  })

  it('returns the messages of the branch, not of its siblings', async () => {
    const { store, branch, ids } = await conversation(40)
    const side = await store.createBranch(branch.conversationId, ids[9]!, { name: 'side' })
    const own = await talk(store, side, ids[9]!, [100, 101])
    const read = await readContext(store, own[1]!, window)
    expect(read.fitted.messages.map(name).slice(1)).toEqual([
      'm4',
      'm5',
      'm6',
      'm7',
      'm8',
      'm9',
      'm100',
      'm101',
    ])
    await store.close()
  })

  it('reads as much as it may send, and nothing of an open turn with wholeTurns', async () => {
    const { store, branch, ids } = await conversation(40)
    const few = await readContext(store, ids[39]!, { ...window, maxMessages: 4 })
    expect(few.messages).toHaveLength(4)
    const turn = { key: 'open', step: 0, status: 'open', holder } as const
    const { head } = await store.append(branch, ids[39]!, [{ role: 'user', content: 'now' }], { turn })
    expect((await shown(store, head)).at(-1)).toBe('now')
    expect((await shown(store, head, { wholeTurns: true })).at(-1)).toBe('m39')
    await store.close()
  })
})

describe('readContext with summaries', () => {
  it('replaces the covered messages by a summary (S2-39)', async () => {
    const { store, branch, ids } = await conversation(40)
    const summary = await summarised(store, branch, ids[0]!, ids[35]!, 'It began well.')
    const read = await readContext(store, ids[39]!, window, { system: 'Be kind.' })
    expect(read.fitted.messages.map(textOf).slice(0, 2)).toEqual([
      'Be kind.',
      'Previous conversation summary: It began well.',
    ])
    expect(read.fitted.messages.map(name).slice(2)).toEqual(['m36', 'm37', 'm38', 'm39'])
    expect(read.summary).toEqual(summary)
    expect(read.uncovered).toEqual({ messages: 4, tokens: 400 })
    const whole = await readContext(store, ids[39]!, window, {}, { summary: 'none' })
    expect(whole).toMatchObject({ summary: null, uncovered: { messages: 40 } })
    await store.close()
  })

  it('uses the newest one', async () => {
    const { store, branch, ids } = await conversation(40)
    await summarised(store, branch, ids[0]!, ids[35]!, 'newer')
    await summarised(store, branch, ids[0]!, ids[33]!, 'older')
    expect((await readContext(store, ids[39]!, window)).summary?.text).toBe('newer')
    await store.close()
  })

  it.each([
    ['right before what is read', 31, 0],
    ['behind what is read', 19, 12],
    ['far behind it, on a path without forks', 3, 28],
  ])('finds a summary that ends %s, and reports the messages in between', async (_, last, missing) => {
    const { store, branch, ids } = await conversation(40)
    await summarised(store, branch, ids[0]!, ids[last]!, 'old times')
    const read = await readContext(store, ids[39]!, { ...window, limit: 1_000 })
    expect(read.summary?.text).toBe('old times')
    expect(read.uncovered).toEqual({ messages: 39 - last, tokens: (39 - last) * 100 })
    const [first, second] = read.fitted.messages.map(textOf)
    expect(first).toBe('Previous conversation summary: old times')
    const left = read.fitted.messages.filter(m => name(m).startsWith('m')).length
    expect(left).toBeLessThanOrEqual(8)
    if (missing > 0)
      expect(second).toBe(`[Note: ${39 - last - left} older messages truncated to stay within token limit]`)
    await store.close()
  })

  it('finds a summary before the tail on a path with forks, within limits', async () => {
    const { store, branch, ids } = await conversation(40)
    const side = await store.createBranch(branch.conversationId, ids[9]!, { name: 'side' })
    const own = await talk(store, side, ids[9]!, upTo(30, 100))
    await summarised(store, side, ids[0]!, own[9]!, 'of the side')
    const read = await readContext(store, own[29]!, window)
    expect(read.summary?.text).toBe('of the side')
    expect(read.uncovered.messages).toBe(20)
    const far = await talk(store, side, own[29]!, upTo(1_200, 200))
    expect((await readContext(store, far.at(-1)!, window)).summary).toBeNull()
    await store.close()
  })

  it('ignores a summary of another branch, and one without the beginning', async () => {
    const { store, branch, ids } = await conversation(40)
    const side = await store.createBranch(branch.conversationId, ids[9]!, { name: 'side' })
    const own = await talk(store, side, ids[9]!, upTo(30, 100))
    await summarised(store, branch, ids[0]!, ids[25]!, 'of main')
    await summarised(store, side, ids[4]!, own[25]!, 'of the middle')
    expect((await readContext(store, own[29]!, window)).summary).toBeNull()
    expect((await readContext(store, own[5]!, window)).summary).toBeNull()
    await summarised(store, branch, ids[0]!, ids[8]!, 'of both')
    expect((await readContext(store, own[29]!, window)).summary?.text).toBe('of both')
    expect((await readContext(store, ids[39]!, window)).summary?.text).toBe('of main')
    await store.close()
  })

  it('finds a summary behind newer ones of other branches', async () => {
    const { store, branch, ids } = await conversation(40)
    await summarised(store, branch, ids[0]!, ids[35]!, 'of main')
    const side = await store.createBranch(branch.conversationId, ids[9]!, { name: 'side' })
    const own = await talk(store, side, ids[9]!, upTo(60, 100))
    for (const last of own.slice(1, 51)) await summarised(store, side, ids[0]!, last, 'of the side')
    expect((await readContext(store, ids[39]!, window)).summary?.text).toBe('of main')
    expect((await readContext(store, own[59]!, window)).summary?.last).toBe(own[50])
    await store.close()
  })
})

describe('readContext with large tool results', () => {
  const call = (callId: string): Block => ({ type: 'tool_call', callId, name: 'read', input: {} })
  const result = (callId: string, output: Json): NewMessage => ({
    role: 'tool_result',
    content: [{ type: 'tool_result', callId, output }],
  })
  const turn = (n: number, output: Json): NewMessage[] => [
    { role: 'user', content: words(n) },
    { role: 'assistant', content: [call(`c${n}`)] },
    result(`c${n}`, output),
    { role: 'assistant', content: words(n + 1) },
  ]
  async function withResults(...outputs: readonly Json[]) {
    const store = await openStore(':memory:')
    const { branch } = await store.create()
    const messages = outputs.flatMap((output, i) => turn(2 * i, output))
    const { head } = await store.append(branch, null, messages)
    return { store, branch, head }
  }
  const outputs = (messages: readonly { content: readonly Block[] }[]) =>
    messages.flatMap(m => m.content.flatMap(b => (b.type === 'tool_result' ? [b.output as string] : [])))

  it('returns their beginning and their size with toolResults: preview', async () => {
    const { store, head } = await withResults(
      'x'.repeat(100_000),
      { rows: ['y'.repeat(20_000), 'z'] },
      'short',
    )
    const large = { limit: 100_000 }
    const read = await readContext(store, head, large, {}, { toolResults: 'preview' })
    expect(outputs(read.fitted.messages)).toEqual([
      `${'x'.repeat(1_024)}\n[shortened: 1024 of 100000 bytes are shown]`,
      `{"rows":["${'y'.repeat(1_024)}\\n[shortened: 1024 of 20000 bytes are shown]","z"]}`,
      'short',
    ])
    const marked = await readContext(
      store,
      head,
      large,
      {},
      {
        toolResults: 'preview',
        mark: ({ hash }) => ` … read_result ${hash.slice(0, 4)}`,
      },
    )
    expect(outputs(marked.fitted.messages)[0]).toMatch(/^x{1024} … read_result [0-9a-f]{4}$/)
    const whole = await readContext(store, head, large)
    expect(outputs(whole.fitted.messages)[0]).toHaveLength(100_000)
    await store.close()
  })

  it('counts only their beginnings', async () => {
    const { store, head } = await withResults(...upTo(12).map(i => `${i}`.repeat(50_000)))
    const read = await readContext(store, head, { limit: 10_000 }, {}, { toolResults: 'preview' })
    expect(outputs(read.fitted.messages)).toHaveLength(12)
    await store.close()
  })

  it('shortens nothing else: a long question is complete', async () => {
    const { store, branch, head } = await withResults('x'.repeat(100_000))
    const question = 'why? '.repeat(10_000)
    const asked = await store.append(branch, head, [{ role: 'user', content: question }])
    const read = await readContext(store, asked.head, { limit: 100_000 }, {}, { toolResults: 'preview' })
    expect(textOf(read.fitted.messages.at(-1)!)).toBe(question)
    expect(outputs(read.fitted.messages)[0]).toMatch(/^x{1024}\n\[shortened/)
    await store.close()
  })
})

describe('a turn much longer than the window', () => {
  /** A question and 1,000 steps of a call and its result, 200 tokens a step, as one turn. */
  async function longTurn() {
    const store = await openStore(':memory:')
    const { branch, ids } = await conversation(4, store)
    const steps = upTo(1_000).flatMap((n): NewMessage[] => [
      {
        role: 'assistant',
        content: [{ type: 'tool_call', callId: `c${n}`, name: 'look', input: { at: words(n) } }],
      },
      { role: 'tool_result', content: [{ type: 'tool_result', callId: `c${n}`, output: words(n) }] },
    ])
    const question: NewMessage = { role: 'user', content: words(4) }
    const turn = { key: 'long', step: 0 }
    const { head, ids: added } = await store.append(branch, ids.at(-1)!, [question, ...steps], { turn })
    return { store, branch, head, ids: [...ids, ...added] }
  }
  const wide = { limit: 5_000 }

  it('is read in part: its question and its newest steps, each result with its call', async () => {
    const { store, head } = await longTurn()
    const { fitted, messages, older } = await readContext(store, head, wide)
    expect(messages.length).toBeLessThan(200)
    expect(older + messages.length).toBe(2_005)
    const [notice, question, ...rest] = fitted.messages
    expect([notice!.role, name(question!)]).toEqual(['system', 'm4'])
    expect(textOf(notice!)).toMatch(/^\[Note: 1\d{3} older messages truncated/)
    const calls = rest.flatMap(({ content }) =>
      content.flatMap(b => (b.type === 'tool_call' ? [b.callId] : [])),
    )
    const results = rest.flatMap(({ content }) =>
      content.flatMap(b => (b.type === 'tool_result' ? [b.callId] : [])),
    )
    expect(results).toEqual(calls)
    expect(calls.at(-1)).toBe('c999')
    expect(fitted.tokens.total).toBeLessThanOrEqual(fitted.tokens.budget)
    await store.close()
  })

  it('uses a summary that ends inside it', async () => {
    const { store, branch, head, ids } = await longTurn()
    await summarised(store, branch, ids[0]!, ids[1_804]!, 'of the first steps')
    const { summary, missing, fitted } = await readContext(store, head, wide)
    expect([summary?.text, missing]).toEqual(['of the first steps', expect.any(Number)])
    expect(missing).toBeLessThan(200)
    expect(fitted.messages.map(name)).toContain('m4')
    await store.close()
  })
})

describe('the cost of readContext', () => {
  it('depends on the window: 100,000 messages cost as much as 1,000, and no path is read (S0-31, S0-56)', {
    timeout: 120_000,
  }, async () => {
    const meter = await meterSqlite()
    const { branch, ids } = await conversation(100_000, meter.store)
    await summarised(meter.store, branch, ids[0]!, ids[500]!, 'of the first')
    const { reader, calls } = counted(meter.store)
    const cost = (head: MessageId) => meter.rowsOf(() => readContext(reader, head, { limit: 50_000 }))
    const early = await cost(ids[999]!)
    expect(await cost(ids[99_999]!)).toBeLessThanOrEqual(early + 8)
    const capped = { limit: 50_000_000, maxMessages: 200 }
    const rows = await meter.rowsOf(() => readContext(reader, ids[99_999]!, capped))
    expect(rows).toBeLessThan(1_000)
    expect((await readContext(reader, ids[99_999]!, capped)).messages.length).toBeLessThanOrEqual(201)
    expect(Object.keys(calls).sort()).toEqual(['getMessages', 'listSummaries', 'tail'])
    await meter.close()
  })
})
