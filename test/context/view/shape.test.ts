import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fit } from '../../../src/context/fit/fit.ts'
import type { Fitted, Pinned, Window } from '../../../src/context/fit/window.ts'
import { isResult } from '../../../src/context/view/pairs.ts'
import { repair, viewOf } from '../../../src/context/view/view.ts'
import { isMedia } from '../../../src/core/block.ts'
import { ContextLengthError } from '../../../src/core/errors.ts'
import { type Message, textOf } from '../../../src/core/message.ts'
import type { ContextMessage } from '../../../src/core/model.ts'
import { estimateTokens } from '../../../src/core/tokens.ts'
import { openModel } from '../../../src/models/open.ts'
import { anthropicRefusal, chatRefusal, googleRefusal, openaiRefusal } from '../../support/models/rules.ts'
import { startModelServer } from '../../support/models/server.ts'
import { type Author, arbitraryPath } from '../arbitrary-path.ts'
import { shapeFault } from './rules.ts'

/** A failure prints its seed; PROPERTY_SEED runs it again, and PROPERTY_RUNS makes the run longer. */
const seed = Number(process.env.PROPERTY_SEED ?? 20_260_301)
const runs = (most: number) => ({ seed, numRuns: Number(process.env.PROPERTY_RUNS ?? most) })

interface Case {
  readonly path: readonly Message[]
  readonly window: Window
  readonly pinned: Pinned
}

const anyAuthor: Author = { provider: 'unknown', model: 'none' }

const casesOf = (author: Author): fc.Arbitrary<Case> =>
  fc
    .record({
      path: arbitraryPath(author),
      limit: fc.oneof(fc.integer({ min: 60, max: 5_000 }), fc.constant(1_000_000)),
      maxMessages: fc.option(fc.integer({ min: 1, max: 20 }), { freq: 4 }),
      maxChars: fc.option(fc.integer({ min: 500, max: 5_000 }), { freq: 5 }),
      keepRecent: fc.integer({ min: 0, max: 12 }),
      system: fc.constantFrom(null, '', 'Be kind.'),
      notes: fc.constantFrom([], ['A note.', '']),
      covered: fc.option(fc.integer({ min: 0, max: 60 }), { freq: 3 }),
      older: fc.constantFrom(0, 7),
    })
    .map(({ path, limit, maxMessages, maxChars, keepRecent, covered, ...pinned }) => ({
      path,
      window: {
        limit,
        keepRecent,
        ...(maxMessages !== null && { maxMessages }),
        ...(maxChars !== null && { maxChars }),
      },
      pinned: { ...pinned, summary: covered === null ? null : summaryTo(path[covered]) },
    }))

const summaryTo = (message: Message | undefined) => (message ? { text: 'They met.', last: message.id } : null)

/** The context, or null if it cannot be made. */
function fitted({ path, window, pinned }: Case, count = undefined as typeof estimateTokens | undefined) {
  try {
    return fit(path, window, pinned, count)
  } catch (error) {
    if (error instanceof ContextLengthError) return null
    throw error
  }
}

describe('any stored path', { timeout: 120_000 }, () => {
  it('gives a context that breaks no common rule of the providers', () => {
    fc.assert(
      fc.property(casesOf(anyAuthor), one => {
        const context = fitted(one)
        if (context) expect(shapeFault(context.messages)).toBeNull()
      }),
      runs(1_000),
    )
  })

  it('gives a repaired path that breaks no rule either, and lacks no text', () => {
    fc.assert(
      fc.property(arbitraryPath(anyAuthor), path => {
        const view = repair(path)
        expect(shapeFault(view)).toBeNull()
        const shown = JSON.stringify(view)
        for (const message of path.filter(message => message.erased === null)) {
          for (const block of message.content) {
            const words = block.type === 'text' ? block.text : isResult(block) ? block.output : null
            if (typeof words === 'string' && message.role !== 'system') expectWithin(shown, words)
          }
        }
      }),
      runs(1_000),
    )
  })

  it('counts every stored message once, shown or not', () => {
    const weightless = { tokens: () => 0, characters: () => 0 }
    fc.assert(
      fc.property(arbitraryPath(anyAuthor), path => {
        const items = viewOf(path, weightless)
        const stood = items.reduce((sum, { covers }) => sum + covers, 0)
        expect(stood).toBe(items.length === 0 ? 0 : path.length)
      }),
      runs(1_000),
    )
  })

  it('gives a context within its budget, with the newest question, in order', () => {
    let made = 0
    fc.assert(
      fc.property(casesOf(anyAuthor), one => {
        const context = fitted(one, estimateTokens)
        if (!context) return
        made++
        expect(context.tokens.total).toBeLessThanOrEqual(Math.max(context.tokens.budget, 0))
        expect(countAll(context.messages) + context.tokens.overhead).toBe(context.tokens.total)
        const question = one.path.findLast(isQuestion)
        if (question) expect(context.messages.map(({ id }) => id)).toContain(question.id)
        expect(isSorted(placesIn(context, one.path))).toBe(true)
        expect(noticeOf(context)).toBe(truncated(context, one))
      }),
      runs(1_000),
    )
    // If all of them were refused, the test would prove nothing.
    expect(made).toBeGreaterThan(Number(process.env.PROPERTY_RUNS ?? 1_000) * 0.7)
  })
})

describe('any stored path is accepted in shape by', () => {
  const providers = {
    'openai/gpt-5': openaiRefusal,
    'anthropic/claude-sonnet-4-5': anthropicRefusal,
    'google/gemini-2.5-pro': googleRefusal,
    'compatible/model': chatRefusal,
  }

  it.each(Object.entries(providers))('%s', { timeout: 120_000 }, async (name, refusalOf) => {
    let body: unknown
    const capture: typeof fetch = async (_, init) => {
      body = JSON.parse(String(init?.body))
      return Response.json({ error: { message: 'that is all' } }, { status: 400 })
    }
    const keys = { openai: 'k', anthropic: 'k', google: 'k', compatible: 'k' }
    const baseUrls = { compatible: 'http://127.0.0.1:9/v1' }
    const model = await openModel(name, { env: {}, keys, baseUrls, fetch: capture, retry: false })
    await fc.assert(
      fc.asyncProperty(casesOf(authorOf(name)), async one => {
        const messages = fitted(one)?.messages ?? []
        if (messages.length === 0) return
        body = undefined
        await expect(drain(model.stream({ messages, maxOutput: 100 }))).rejects.toThrow(
          'refused the request (400)',
        )
        expect(refusalOf(body)).toBeNull()
      }),
      runs(200),
    )
  })

  it('all of them over the wire, with an answer', { timeout: 60_000 }, async () => {
    const server = await startModelServer()
    try {
      const keys = { openai: 'k', anthropic: 'k', google: 'k', compatible: 'k' }
      for (const name of Object.keys(providers)) {
        const model = await openModel(name, { env: {}, keys, baseUrls: server.baseUrls, retry: false })
        for (const one of fc.sample(casesOf(authorOf(name)), { seed, numRuns: 25 })) {
          const messages = fitted(one)?.messages ?? []
          if (messages.length > 0) expect(await drain(model.stream({ messages, maxOutput: 100 }))).toBe('ok')
        }
      }
      expect(server.requests.length).toBeGreaterThan(60)
      expect(server.requests.filter(request => request.refused !== null)).toEqual([])
    } finally {
      await server.close()
    }
  })
})

function authorOf(name: string): Author {
  const [provider, model] = name.split('/') as [string, string]
  return { provider, model }
}

async function drain(events: ReturnType<Awaited<ReturnType<typeof openModel>>['stream']>): Promise<string> {
  let said = ''
  for await (const event of events) if (event.type === 'text') said += event.text
  return said
}

/** `toContain` would be slow for so many. */
function expectWithin(json: string, words: string): void {
  const asJson = JSON.stringify(words.toWellFormed()).slice(1, -1)
  if (/\S/.test(words) && !json.includes(asJson)) expect(json).toContain(asJson)
}

const countAll = (messages: readonly ContextMessage[]) =>
  messages.reduce((sum, { content: blocks }) => sum + estimateTokens(blocks), 0)

function isQuestion({ role, content, erased }: Message): boolean {
  if (role !== 'user') return false
  return erased !== null || content.some(block => isMedia(block) || /\S/.test(textOf({ content: [block] })))
}

/** The positions in the path of the answers and questions of a context; results may have moved to their
 *  calls. */
function placesIn({ messages }: Fitted, path: readonly Message[]): readonly number[] {
  const spoken = messages.filter(
    ({ role, id }) => id !== undefined && (role === 'user' || role === 'assistant'),
  )
  return spoken.map(({ id }) => path.findIndex(message => message.id === id))
}

const isSorted = (places: readonly number[]) => places.every((place, i) => i === 0 || places[i - 1]! <= place)

function noticeOf({ messages }: Fitted): number {
  const notice = messages.map(textOf).find(words => words.startsWith('[Note: '))
  return Number(notice?.match(/\d+/)?.[0] ?? 0)
}

function truncated({ left }: Fitted, { path, pinned }: Case): number {
  const isWithin = path.some(({ id }) => id === pinned.summary?.last)
  const unread = isWithin ? 0 : (pinned.older ?? 0)
  return left.reduce((sum, { reason, messages }) => sum + (reason === 'summarised' ? 0 : messages), unread)
}
