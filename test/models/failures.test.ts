import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { ContextLengthError, ModelError } from '../../src/core/errors.ts'
import { modelError, overflowIn } from '../../src/models/errors.ts'
import { type ModelServer, type ModelServerOptions, startModelServer } from '../support/models/server.ts'
import { answerOf, keys, open, providers, untilFailure, user, words } from './conversation.ts'

let server: ModelServer | undefined
afterEach(() => server?.close())
const start = async (options: ModelServerOptions) => (server = await startModelServer(options))
const request = { messages: [user('x')] }

describe.each(Object.entries(providers))('%s', (name, protocol) => {
  it('is retried if it is busy or failing, after the pause that it asks for', async () => {
    const started = await start({
      reply: ({ n }) => [{ status: 429, retryAfter: 2 }, { status: 503 }, 'ok'][n] ?? 'too often',
    })
    const slept: number[] = []
    const retry = { sleep: async (ms: number) => void slept.push(ms), random: () => 0 }
    expect(words(await answerOf(await open(name, started, { retry }), request))).toBe('ok')
    expect(slept).toEqual([2_000, 500])
  })

  it('is called at most three times', async () => {
    const started = await start({ reply: () => ({ status: 500, message: 'out of order' }) })
    const { error } = await untilFailure(await open(name, started), request)
    expect(error).toMatchObject({ code: 'model_failed', status: 500, retryable: true, model: name })
    expect(String(error)).toContain('overloaded or failing (500): out of order')
    expect(started.requests).toHaveLength(3)
  })

  it('is not retried if it asks for more than a minute', async () => {
    const started = await start({ reply: () => ({ status: 429, retryAfter: 61 }) })
    const { error } = await untilFailure(await open(name, started), request)
    expect(error).toMatchObject({ status: 429, retryAfterMs: 61_000 })
    expect(started.requests).toHaveLength(1)
  })

  it('is not retried if it refuses the request', async () => {
    const started = await start({ reply: () => ({ status: 404, message: 'no such model' }) })
    const { error } = await untilFailure(await open(name, started), request)
    expect(error).toMatchObject({ status: 404, retryable: false })
    expect(started.requests).toHaveLength(1)
  })

  it('is retried if the connection breaks before the first piece', async () => {
    const started = await start({ reply: ({ n }) => (n === 0 ? { parts: [{ cut: 'socket' }] } : 'ok') })
    expect(words(await answerOf(await open(name, started), request))).toBe('ok')
  })

  it('gives an error with its address if it is unreachable', async () => {
    const started = await startModelServer()
    await started.close()
    const { error } = await untilFailure(await open(name, started), request)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ status: null, retryable: true })
    expect(String(error)).toMatch(/cannot be reached at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/)
  })

  it('stops waiting if the signal is aborted', async () => {
    const started = await start({ reply: () => ({ status: 429, retryAfter: 50 }) })
    const abort = new AbortController()
    const model = await open(name, started, { retry: {} })
    const run = untilFailure(model, { ...request, signal: abort.signal })
    while (started.requests.length === 0) await new Promise(resolve => setImmediate(resolve))
    abort.abort(new Error('no longer'))
    expect(String((await run).error)).toBe('Error: no longer')
  })

  it('gives a context length error with the provider’s numbers', async () => {
    const started = await start({ reply: () => ({ overflow: { limit: 8_192, needed: 9_000 } }) })
    const { error } = await untilFailure(await open(name, started), request)
    expect(error).toBeInstanceOf(ContextLengthError)
    const numbers = protocol === 'openai' ? { limit: null, needed: null } : { limit: 8_192, needed: 9_000 }
    expect(error).toMatchObject({ code: 'context_length', ...numbers })
    expect(started.requests).toHaveLength(1)
  })

  it('does not show a key, a header or the conversation in an error (R20)', async () => {
    const wrong = 'sk-proj-wrong-key-0123456789abcdef'
    const started = await start({ key: 'another' })
    const all = Object.fromEntries(Object.keys({ ...keys, ollama: '' }).map(provider => [provider, wrong]))
    const { error } = await untilFailure(await open(name, started, { keys: all }), {
      messages: [user('my diary')],
    })
    expect(error).toMatchObject({ status: 401, retryable: false })
    const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error)
    expect(shown).toContain('Incorrect API key provided: [key]')
    expect(shown).not.toContain(wrong)
    expect(shown).not.toMatch(/my diary|responseHeaders|authorization|x-api-key/i)
  })
})

describe('overflowIn', () => {
  it.each([
    ['prompt is too long: 210345 tokens > 200000 maximum', 200_000, 210_345],
    [
      'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease',
      200_000,
      209_573,
    ],
    [
      "This model's maximum context length is 4096 tokens. However, you requested 5,000 tokens (4500 in the messages",
      4_096,
      5_000,
    ],
    [
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens.",
      128_000,
      140_000,
    ],
    [
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens",
      131_072,
      150_000,
    ],
    [
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
      undefined,
      undefined,
    ],
    [
      'The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).',
      1_048_576,
      1_250_000,
    ],
    ['The input token count exceeds the maximum number of tokens allowed 1048576.', 1_048_576, undefined],
    [
      'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
      4_096,
      5_000,
    ],
    [
      "This model's maximum prompt length is 131072 but the request contains 137000 tokens.",
      131_072,
      137_000,
    ],
    [
      'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      32_768,
      40_000,
    ],
    ['prompt token count of 70000 exceeds the limit of 64000', 64_000, 70_000],
    ['Please reduce the length of the messages or completion.', undefined, undefined],
    ['Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 45000.', 30_000, 45_000],
  ])('recognizes: %s', (said, limit, needed) => {
    expect(overflowIn(said)).toEqual({ ...(limit && { limit }), ...(needed && { needed }) })
  })

  it.each([
    'Rate limit reached for gpt-4o',
    'max_tokens is too large: 9999. This model supports at most 4096 completion tokens',
    'messages: text content blocks must be non-empty',
  ])('ignores: %s', said => {
    expect(overflowIn(said)).toBeNull()
  })
})

describe('modelError', () => {
  const now = () => Date.UTC(2030, 0, 1)

  it('reads a date of Retry-After, and Google’s own format', () => {
    const headers = { 'retry-after': new Date(now() + 7_000).toUTCString() }
    expect(modelError({ statusCode: 429, responseHeaders: headers }, 'm', { now })).toMatchObject({
      retryAfterMs: 7_000,
    })
    const body = '{"error":{"details":[{"@type":"RetryInfo","retryDelay":"34.5s"}]}}'
    expect(modelError({ statusCode: 429, responseBody: body }, 'm', { now })).toMatchObject({
      retryAfterMs: 34_500,
    })
    const exact = { 'retry-after-ms': '150', 'retry-after': '9' }
    expect(modelError({ statusCode: 429, responseHeaders: exact }, 'm', { now })).toMatchObject({
      retryAfterMs: 150,
    })
  })

  it('is not retryable if the quota is used up', () => {
    const gone = {
      statusCode: 429,
      isRetryable: true,
      data: { error: { code: 'insufficient_quota', message: 'no money' } },
    }
    expect(modelError(gone, 'm')).toMatchObject({ status: 429, retryable: false })
  })

  it('recognizes network errors by their codes at any depth', () => {
    const deep = new Error('socket hang up', {
      cause: new AggregateError([Object.assign(new Error('x'), { code: 'ECONNRESET' })]),
    })
    expect(modelError(deep, 'm')).toMatchObject({ retryable: true, status: null })
    expect(modelError(deep, 'm').message).toBe('m: cannot be reached (ECONNRESET)')
    expect(modelError(new Error('a fault of the client'), 'm')).toMatchObject({ retryable: false })
  })

  it('shortens long messages, and accepts errors without a message', () => {
    expect(modelError({ statusCode: 400, message: 'x'.repeat(5_000) }, 'm').message.length).toBeLessThan(350)
    expect(modelError(undefined, 'm').message).toBe('m: failed without a word')
    expect(modelError('a mere string', 'm').message).toBe('m: a mere string')
  })
})
