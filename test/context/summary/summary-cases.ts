import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readContext } from '../../../src/context/read-context.ts'
import { type SummarizeOptions, summarize } from '../../../src/context/summary/summarize.ts'
import type { Block } from '../../../src/core/block.ts'
import type { BranchRef } from '../../../src/core/branch.ts'
import { ContextLengthError, type Holder, ModelError } from '../../../src/core/errors.ts'
import type { MessageId } from '../../../src/core/ids.ts'
import { type NewMessage, textOf } from '../../../src/core/message.ts'
import { collectPages } from '../../../src/core/pages.ts'
import { pathOf } from '../../../src/core/path.ts'
import type { Store } from '../../../src/core/ports.ts'
import type { Source } from '../../../src/core/source.ts'
import { leaseMs } from '../../../src/core/turn.ts'
import { askedFor, type ToldModel, told } from '../model.ts'

const holder = (pid = 1): Holder => ({ host: 'h', boot: 'b', pid, startedAt: 1 })
const window = { limit: 10_000 }
const words = (n: number) => `m${n} `.padEnd(200, '.')

/** Timers that a test fires itself. */
function timers() {
  const waiting = new Set<() => void>()
  return {
    after: (_ms: number, run: () => void) => {
      waiting.add(run)
      return () => waiting.delete(run)
    },
    waiting,
    fire() {
      const due = [...waiting]
      waiting.clear()
      for (const run of due) run()
    },
  }
}

/** A driver to run the cases on. `open` makes a store with this clock. */
export interface SummaryDriver {
  readonly name: string
  open(source: Source): Promise<Store>
}

/** Registers the tests of `summarize` on a driver. */
export function describeSummaries({ name, open }: SummaryDriver): void {
  describe(`summarize on ${name}`, () => {
    let clock: number
    let store: Store
    let branch: BranchRef
    let ids: MessageId[]
    let time: ReturnType<typeof timers>

    beforeEach(async () => {
      clock = 1_767_225_600_000
      store = await open({ now: () => clock, uuid: () => crypto.randomUUID() })
      branch = (await store.create()).branch
      ids = []
      time = timers()
    })
    afterEach(() => store.close())

    async function say(...messages: readonly NewMessage[]) {
      const appended = await store.append(branch, ids.at(-1) ?? null, messages)
      ids.push(...appended.ids)
    }
    const talk = (from: number, to: number) =>
      say(
        ...Array.from({ length: to - from }, (_, i): NewMessage => {
          return { role: (from + i) % 2 === 0 ? 'user' : 'assistant', content: words(from + i) }
        }),
      )
    const run = (model: ToldModel, options: Partial<SummarizeOptions> = {}, on: Store = store) =>
      summarize(
        on,
        { conversationId: branch.conversationId, head: ids.at(-1)! },
        { model, window, holder: holder(), after: time.after, ...options },
      )
    /** Summarizes like another process: with its own handle. */
    const elsewhere = (model: ToldModel) => run(model, { holder: holder(2) }, new Proxy(store, {}))
    const stored = () => collectPages(page => store.listSummaries(branch.conversationId, page))

    it('covers all messages except the last ten, and the model gets the summary after that (S2-39)', async () => {
      await talk(0, 30)
      const model = told(() => 'They counted.')
      const result = await run(model)
      expect(result).toMatchObject({
        outcome: 'made',
        messages: 20,
        usage: { input: 100, output: 10 },
        error: null,
      })
      expect(result.summary).toMatchObject({
        first: ids[0],
        last: ids[19],
        text: 'They counted.',
        tokens: 4,
        model: 'told/small',
      })
      expect(await stored()).toEqual([result.summary])
      expect(askedFor(model.requests[0]!)).toMatch(
        /User: m0 .*Assistant: m19 [.]*\n<\/conversation_history>/s,
      )
      expect(askedFor(model.requests[0]!)).not.toContain('m20 ')
      const { fitted } = await readContext(store, ids.at(-1)!, window)
      expect(textOf(fitted.messages[0]!)).toBe('Previous conversation summary: They counted.')
      expect(fitted.messages).toHaveLength(11)
      expect(textOf(fitted.messages[1]!)).toBe(words(20))
      expect((await pathOf(store, ids.at(-1)!)).map(textOf)).toHaveLength(30)
      expect(time.waiting.size).toBe(0)
    })

    it('makes a summary once for a range, and reuses it', async () => {
      await talk(0, 30)
      const model = told((_, call) => `summary ${call}`)
      const first = await run(model)
      expect(await run(model)).toEqual({ ...first, outcome: 'reused', messages: 0, usage: {} })
      expect(await run(model, { holder: holder(2) })).toMatchObject({
        outcome: 'reused',
        summary: first.summary,
      })
      expect(model.requests).toHaveLength(1)
      await say({ role: 'user', content: 'one more' })
      expect(await run(model)).toMatchObject({ outcome: 'reused', summary: first.summary })
      expect(await stored()).toHaveLength(1)
    })

    it('uses the last summary and the messages after it', async () => {
      await talk(0, 30)
      const model = told((_, call) => `summary ${call}`)
      await run(model)
      await talk(30, 50)
      const next = await run(model)
      expect(next).toMatchObject({ outcome: 'made', messages: 20 })
      expect(next.summary).toMatchObject({ first: ids[0], last: ids[39], text: 'summary 2' })
      const asked = askedFor(model.requests[1]!)
      expect(asked).toContain('Previous conversation summary:\nsummary 1\n\nUser: m20 ')
      expect(asked).not.toMatch(/m19 |m40 /)
      expect((await readContext(store, ids.at(-1)!, window)).summary).toEqual(next.summary)
    })

    it('uses the summary of the parent branch for a fork', async () => {
      await talk(0, 30)
      const model = told((_, call) => `summary ${call}`)
      await run(model)
      await talk(30, 50)
      await run(model)
      branch = await store.createBranch(branch.conversationId, ids[29]!, { name: 'side' })
      ids = ids.slice(0, 30)
      await talk(60, 80)
      const side = await run(model)
      expect(side.summary).toMatchObject({ first: ids[0], last: ids[39], text: 'summary 3' })
      expect(askedFor(model.requests[2]!)).toContain('Previous conversation summary:\nsummary 1\n')
      expect(await stored()).toHaveLength(3)
    })

    it('returns nothing if no message is old enough', async () => {
      await talk(0, 10)
      const model = told(() => 'never')
      expect(await run(model)).toEqual({
        outcome: 'nothing',
        summary: null,
        messages: 0,
        usage: {},
        error: null,
      })
      expect(model.requests).toHaveLength(0)
      expect(await run(model, { keepRecent: 4 })).toMatchObject({ outcome: 'made', messages: 6 })
    })

    it('keeps a call with its result', async () => {
      const call: Block = { type: 'tool_call', callId: 'c', name: 'bash', input: { command: 'make' } }
      const result: Block = { type: 'tool_result', callId: 'c', output: 'ok' }
      await talk(0, 4)
      await say(
        { role: 'user', content: 'build' },
        { role: 'assistant', content: [call] },
        { role: 'tool_result', content: [result] },
        { role: 'assistant', content: 'built' },
      )
      const model = told(() => 'short')
      expect((await run(model, { keepRecent: 2 })).summary?.last).toBe(ids[3])
      await talk(4, 6)
      expect((await run(model, { keepRecent: 2 })).summary?.last).toBe(ids[7])
      expect(askedFor(model.requests[1]!)).toContain(
        'Assistant: [used tools: bash]\nTool: ok\nAssistant: built',
      )
    })

    it('processes the messages in pieces if the window is small', async () => {
      await talk(0, 60)
      const model = told((_, call) => `so far ${call}`)
      const result = await run(model, { window: { limit: 2_500 } })
      expect(result).toMatchObject({ outcome: 'made', messages: 50 })
      const { requests } = model
      expect(requests.length).toBeGreaterThan(2)
      expect(result.summary?.text).toBe(`so far ${requests.length}`)
      expect(result.usage).toEqual({ input: 100 * requests.length, output: 10 * requests.length })
      const said = requests.flatMap(request =>
        [...askedFor(request).matchAll(/: (m\d+) /g)].map(([, name]) => name),
      )
      expect(said).toEqual(Array.from({ length: 50 }, (_, i) => `m${i}`))
      for (const [i, request] of requests.slice(1).entries()) {
        expect(askedFor(request)).toContain(`Previous conversation summary:\nso far ${i + 1}\n`)
      }
    })

    it('uses smaller pieces if the model refuses one as too long', async () => {
      await talk(0, 50)
      const model = told(request => {
        const messages = [...askedFor(request).matchAll(/: m\d+ /g)].length
        if (messages > 12) throw new ContextLengthError('too long')
        return `of ${messages}`
      })
      const result = await run(model)
      expect(result).toMatchObject({ outcome: 'made', messages: 40 })
      expect(result.summary?.text).toBe('of 10')
    })

    it('calls the model a bounded number of times, for any length of the history', async () => {
      for (let from = 0; from < 4_000; from += 1_000) await talk(from, from + 1_000)
      const model = told((_, call) => `so far ${call}`)
      const result = await run(model, { window: { limit: 3_000 } })
      expect(model.requests).toHaveLength(16)
      expect(result).toMatchObject({ outcome: 'made', messages: 3_990 })
      expect(askedFor(model.requests[0]!)).toMatch(/summary:\n\(Made of \d+ messages without a model/)
    })

    it('bounds the length of any answer', async () => {
      await talk(0, 30)
      const result = await run(
        told(() => 'x'.repeat(1_000_000)),
        { maxTokens: 100 },
      )
      expect(result.summary!.text.length).toBeLessThan(600)
      await talk(30, 50)
      const model = told(() => '')
      await run(model)
      expect(model.requests[0]!.maxOutput).toBeLessThanOrEqual(4_000)
    })

    it.each([
      ['fails', () => Promise.reject(new ModelError('told/small', 'overloaded'))],
      ['says nothing', () => ''],
    ])('makes an extractive summary if the model %s, and reports it', async (_, answer) => {
      await talk(0, 30)
      const result = await run(told(answer))
      expect(result).toMatchObject({ outcome: 'extractive', messages: 20 })
      expect(result.error).toBeInstanceOf(ModelError)
      expect(result.summary).toMatchObject({ model: 'extractive', first: ids[0], last: ids[19] })
      expect(result.summary!.text).toMatch(
        /^\(Made of 20 messages without a model\.\)\nThe user first asked: "m0 \./,
      )
      expect(await run(told(() => 'later'))).toMatchObject({ outcome: 'reused', summary: result.summary })
    })

    it('keeps the finished part if the model fails in the middle', async () => {
      await talk(0, 60)
      const model = told((_, call) => {
        if (call > 1) throw new ModelError('told/small', 'gone')
        return 'the beginning, well told'
      })
      const result = await run(model, { window: { limit: 2_500 } })
      expect(result.outcome).toBe('extractive')
      expect(result.summary!.text).toContain('Before that: the beginning, well told')
    })

    it('stops at once if it is aborted: nothing is stored, and the same process may begin again', async () => {
      await talk(0, 30)
      const abort = new AbortController()
      const model = told(async request => {
        abort.abort(new Error('enough'))
        request.signal!.throwIfAborted()
        return 'too late'
      })
      await expect(run(model, { signal: abort.signal })).rejects.toThrow('enough')
      await expect(run(model, { signal: abort.signal })).rejects.toThrow('enough')
      expect(model.requests).toHaveLength(1)
      expect(await stored()).toEqual([])
      expect(time.waiting.size).toBe(0)
      expect(await run(told(() => 'again'))).toMatchObject({ outcome: 'made' })
    })

    it('runs once at a time: other calls get busy with the holder, also in this process', async () => {
      await talk(0, 30)
      const asked = Promise.withResolvers<void>()
      const release = Promise.withResolvers<string>()
      const slow = told(() => {
        asked.resolve()
        return release.promise
      })
      const making = run(slow)
      await asked.promise
      const other = told(() => 'twice')
      const busy = await elsewhere(other)
      expect(busy).toMatchObject({
        outcome: 'busy',
        summary: null,
        error: { code: 'busy', holder: holder(1) },
      })
      expect(await run(other)).toMatchObject({ outcome: 'busy' })
      // Another range of the same conversation is busy, too.
      await talk(30, 40)
      expect(await elsewhere(other)).toMatchObject({ outcome: 'busy' })
      release.resolve('once')
      expect(await making).toMatchObject({ outcome: 'made' })
      expect(other.requests).toHaveLength(0)
    })

    it('renews the claim while the model is slow', async () => {
      await talk(0, 30)
      const asked = Promise.withResolvers<void>()
      const release = Promise.withResolvers<string>()
      const making = run(
        told(() => {
          asked.resolve()
          return release.promise
        }),
      )
      await asked.promise
      for (let renewal = 0; renewal < 6; renewal++) {
        clock += leaseMs / 3
        time.fire()
        await expect.poll(() => time.waiting.size).toBe(1)
      }
      // Another handle, because one store object does not claim twice.
      expect(
        await run(
          told(() => 'twice'),
          { holder: holder(2) },
        ),
      ).toMatchObject({ outcome: 'busy' })
      release.resolve('slowly')
      expect(await making).toMatchObject({ outcome: 'made', summary: { text: 'slowly' } })
    })

    it('leaves the summary to the process that took over, after a long suspension', async () => {
      await talk(0, 30)
      const asked = Promise.withResolvers<void>()
      const release = Promise.withResolvers<string>()
      const frozen = run(
        told(() => {
          asked.resolve()
          return release.promise
        }),
      )
      await asked.promise
      clock += leaseMs + 1
      const range = { first: ids[0]!, last: ids[19]! }
      await store.claimSummary(branch.conversationId, range, holder(2))
      release.resolve('late')
      const lost = await frozen
      expect(lost).toMatchObject({ outcome: 'busy', summary: null, error: { code: 'expired' } })
      expect(lost.usage).toEqual({ input: 100, output: 10 })
      await store.putSummary(branch.conversationId, {
        ...range,
        text: 'in time',
        tokens: 2,
        holder: holder(2),
      })
      expect((await stored()).map(({ text }) => text)).toEqual(['in time'])
    })

    it('stops if a renewal finds that another process has the range', async () => {
      await talk(0, 30)
      const asked = Promise.withResolvers<void>()
      const frozen = run(
        told(async request => {
          asked.resolve()
          await new Promise((_, reject) =>
            request.signal!.addEventListener('abort', () => reject(request.signal!.reason)),
          )
          return 'never'
        }),
      )
      await asked.promise
      clock += leaseMs + 1
      await store.claimSummary(branch.conversationId, { first: ids[0]!, last: ids[19]! }, holder(2))
      time.fire()
      expect(await frozen).toMatchObject({ outcome: 'busy', error: { code: 'busy' } })
    })

    it('has no words of erased messages', async () => {
      await talk(0, 30)
      await store.eraseMessages([ids[4]!], { by: 'me', reason: 'secret' })
      const model = told(() => 'fine')
      await run(model)
      expect(askedFor(model.requests[0]!)).toContain('User: [erased]')
      expect(askedFor(model.requests[0]!)).not.toContain('m4 ')
    })
  })
}
