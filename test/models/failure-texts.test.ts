import { afterEach, describe, expect, it } from 'vitest'
import { ContextLengthError, ModelError } from '../../src/core/errors.ts'
import type { ModelErrorKind } from '../../src/core/model-error-kind.ts'
import { openModel } from '../../src/models/open.ts'
import type { Reply } from '../support/models/reply.ts'
import { type ModelServer, startModelServer } from '../support/models/server.ts'
import { untilFailure, user } from './conversation.ts'

let server: ModelServer | undefined
afterEach(() => server?.close())

/** One model of each provider, and the variable that holds its key. */
const models = [
  ['anthropic/claude-sonnet-5-5', 'ANTHROPIC_API_KEY'],
  ['openai/gpt-5.5', 'OPENAI_API_KEY'],
  ['google/gemini-3.5-flash', 'GEMINI_API_KEY'],
  ['compatible/some-model', 'COMPATIBLE_API_KEY'],
  ['ollama/llama3.2', 'OLLAMA_API_KEY'],
] as const

const env = (url: string) => ({
  ANTHROPIC_API_KEY: 'a-secret',
  ANTHROPIC_BASE_URL: url,
  OPENAI_API_KEY: 'o-secret',
  OPENAI_BASE_URL: `${url}/v1`,
  GEMINI_API_KEY: 'g-secret',
  GOOGLE_GEMINI_BASE_URL: url,
  COMPATIBLE_BASE_URL: `${url}/v1`,
  OLLAMA_HOST: url,
})

interface Row {
  readonly reply: Reply
  readonly kind: ModelErrorKind
  readonly says: RegExp
  /** What helps. */
  hint(model: string, variable: string): string | null
}

/** Every kind of failure, as a server sends it. */
const rows: Readonly<Record<string, Row>> = {
  'a refused key': {
    reply: { status: 401, message: 'invalid x-api-key' },
    kind: 'key_refused',
    says: /: the provider does not accept the key \(401\): invalid x-api-key$/,
    hint: (_, variable) => `Check ${variable}`,
  },
  'a key without permission': {
    reply: { status: 403, message: 'not for you' },
    kind: 'not_allowed',
    says: /: the key is not allowed to do this \(403\): not for you$/,
    hint: (_, variable) => `Check what ${variable} may use, or choose another model`,
  },
  'an unknown model': {
    reply: { status: 404, message: 'no such model' },
    kind: 'unknown_model',
    says: /: the provider does not have this model \(404\): no such model$/,
    hint: model => {
      if (model.startsWith('ollama/')) return 'Download it: ollama pull llama3.2'
      return model.startsWith('compatible/') ? 'Check its name and COMPATIBLE_BASE_URL' : 'Check its name'
    },
  },
  'a limited rate': {
    reply: { status: 429, message: 'slow down', retryAfter: 20 },
    kind: 'rate_limited',
    says: /: too many requests \(429\): slow down$/,
    hint: () => 'Try again in 20 s',
  },
  'an account without credit': {
    reply: { status: 402, message: 'insufficient credits' },
    kind: 'no_credit',
    says: /: the account has no credit left \(402\): insufficient credits$/,
    hint: () => 'Add credit at the provider, or choose another model',
  },
  'an overloaded provider': {
    reply: { status: 503, message: 'try later' },
    kind: 'overloaded',
    says: /: the provider is overloaded or failing \(503\): try later$/,
    hint: () => 'Try again in a minute, or choose another model',
  },
  'a refused request': {
    reply: { status: 422, message: 'temperature: too hot' },
    kind: 'bad_request',
    says: /: the provider refused the request \(422\): temperature: too hot$/,
    hint: () => null,
  },
  'a stream that dies': {
    reply: { parts: [{ text: 'half' }, { cut: 'socket' }] },
    kind: 'broke_off',
    says: /: the connection to (anthropic|openai|google|ollama|http:\/\/127\.0\.0\.1:\d+) was lost before the answer was complete$/,
    hint: () => null,
  },
}

describe.each(models)('%s', (model, variable) => {
  const failureOf = async (reply: Reply) => {
    server = await startModelServer({ reply: () => reply })
    const opened = await openModel(model, { env: env(server.url), retry: false })
    return (await untilFailure(opened, { messages: [user('x')] })).error
  }

  it.each(Object.entries(rows))('says what happened and what helps: %s', async (_, row) => {
    const error = await failureOf(row.reply)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ model, kind: row.kind, hint: row.hint(model, variable) })
    expect((error as ModelError).message).toMatch(row.says)
    expect((error as ModelError).message.startsWith(`${model}: `)).toBe(true)
  })

  it('says where it looked for a server that is not there', async () => {
    const { url, close } = await startModelServer()
    await close()
    const opened = await openModel(model, { env: env(url), retry: false })
    const { error } = await untilFailure(opened, { messages: [user('x')] })
    const hints: Readonly<Record<string, string>> = {
      ollama: 'Is Ollama running? Start it: ollama serve',
      compatible: 'Is the server running? COMPATIBLE_BASE_URL has its address',
    }
    expect(error).toMatchObject({
      kind: 'unreachable',
      message: `${model}: cannot be reached at ${url} (ECONNREFUSED)`,
      hint: hints[model.split('/')[0]!] ?? 'Check the network connection',
    })
  })

  it('reports a context that is too long as an error of its own', async () => {
    expect(await failureOf({ overflow: { limit: 10, needed: 20 } })).toBeInstanceOf(ContextLengthError)
  })

  it('reports an error in the middle of a stream with the provider’s words', async () => {
    const error = await failureOf({ parts: [{ text: 'half' }, { fail: 'we are busy' }] })
    expect(error).toBeInstanceOf(ModelError)
    expect(String(error)).toContain('we are busy')
  })
})

describe('kinds that a provider reports in its own way', () => {
  const failureOf = async (model: string, reply: Reply) => {
    server = await startModelServer({ reply: () => reply })
    const opened = await openModel(model, { env: env(server.url), retry: false })
    return (await untilFailure(opened, { messages: [user('x')] })).error
  }

  it('Google refuses a key with 400', async () => {
    const message = 'API key not valid. Please pass a valid API key.'
    expect(await failureOf('google/gemini-3.5-flash', { status: 400, message })).toMatchObject({
      kind: 'key_refused',
      hint: 'Check GEMINI_API_KEY',
    })
  })

  it('Anthropic refuses an account without credit with 400', async () => {
    const message = 'Your credit balance is too low to access the Anthropic API.'
    const error = await failureOf('anthropic/claude-sonnet-5-5', { status: 400, message })
    expect(error).toMatchObject({ kind: 'no_credit', retryable: false })
  })

  it('names no variable if the key was given in the options', async () => {
    server = await startModelServer({ key: 'another' })
    const model = await openModel('openai/gpt-5.5', {
      env: env(server.url),
      keys: { openai: 'sk-wrong' },
      retry: false,
    })
    const { error } = await untilFailure(model, { messages: [user('x')] })
    expect(error).toMatchObject({ kind: 'key_refused', hint: 'Check the key' })
  })

  it('does not print a password in the address', async () => {
    const { url, close } = await startModelServer()
    await close()
    const address = url.replace('//', '//ada:hunter2@')
    const model = await openModel('compatible/x', { env: { COMPATIBLE_BASE_URL: address }, retry: false })
    const { error } = await untilFailure(model, { messages: [user('x')] })
    expect(String(error)).not.toContain('hunter2')
  })
})

describe('a retry', () => {
  it('is announced with its pause and the attempts that are left', async () => {
    const replies: readonly Reply[] = [{ status: 429, retryAfter: 2 }, { status: 529 }, 'ok']
    server = await startModelServer({ reply: ({ n }) => replies[n]! })
    const retry = { sleep: async () => {}, random: () => 1 }
    const model = await openModel('anthropic/claude-sonnet-5-5', { env: env(server.url), retry })
    const seen: unknown[] = []
    const request = {
      messages: [user('x')],
      onRetry: ({ error, waitMs, left }: { error: ModelError; waitMs: number; left: number }) =>
        seen.push([error.kind, waitMs, left]),
    }
    for await (const _ of model.stream(request));
    expect(seen).toEqual([
      ['rate_limited', 2_000, 2],
      ['overloaded', 1_000, 1],
    ])
  })

  it('is counted in the error of the last attempt', async () => {
    server = await startModelServer({ reply: () => ({ status: 429, message: 'Slow down.', retryAfter: 2 }) })
    const retry = { sleep: async () => {} }
    const model = await openModel('anthropic/claude-sonnet-5-5', { env: env(server.url), retry })
    const { error } = await untilFailure(model, { messages: [user('x')] })
    expect(error).toMatchObject({
      message: 'anthropic/claude-sonnet-5-5: too many requests (429): Slow down, after 3 attempts',
      ...{ kind: 'rate_limited', status: 429, retryable: true, retryAfterMs: 2_000, attempts: 3 },
      hint: 'Try again in 2 s',
    })
  })
})
