import { spawnSync } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { MissingKeyError } from '../../src/core/errors.ts'
import { openModel } from '../../src/models/open.ts'
import { type ModelServer, startModelServer } from '../support/models/server.ts'
import { answerOf, user, words } from './conversation.ts'

let server: ModelServer | undefined
afterEach(() => server?.close())

describe('openModel', () => {
  it.each([
    ['openai/gpt-5', 'OPENAI_API_KEY'],
    ['anthropic/claude-sonnet-4-5', 'ANTHROPIC_API_KEY'],
    ['google/gemini-2.5-pro', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  ])('needs a key for %s, and names the variable', async (name, variable) => {
    const missing = openModel(name, {
      env: { [variable]: ' ' },
      keys: { openai: '', anthropic: '', google: '' },
    })
    await expect(missing).rejects.toThrow(MissingKeyError)
    await expect(missing).rejects.toThrow(`set ${variable}`)
  })

  it.each([
    ['gpt-5', /did you mean openai\/gpt-5\?/],
    ['o3-mini', /did you mean openai\/o3-mini\?/],
    ['claude-opus-4-1', /did you mean anthropic\/claude-opus-4-1\?/],
    ['gemini-2.5-flash', /did you mean google\/gemini-2.5-flash\?/],
    ['llama3.2:3b', /did you mean ollama\/llama3.2:3b\?/],
    ['something', /has no provider: write it as openai\/gpt-5, anthropic\/.*scripted/],
    ['', /has no provider: write it as/],
    ['antropic/claude', /unknown provider: did you mean anthropic\/…\? known are openai\/gpt-5/],
    ['acme/x', /unknown provider: known are openai\/gpt-5/],
    ['__proto__/x', /unknown provider/],
    ['anthropic/', /names no model: anthropic\/claude-sonnet-5-5 would be one/],
    ['compatible/x', /set COMPATIBLE_BASE_URL/],
    [undefined as never, /must be text such as openai\/gpt-5, got undefined/],
  ])('refuses %j, and says what to write', async (name, said) => {
    const refused = openModel(name, { env: {} })
    await expect(refused).rejects.toMatchObject({ code: 'invalid', field: 'model' })
    await expect(refused).rejects.toThrow(said)
  })

  it('reads keys and URLs from the environment, with or without a version in the URL', async () => {
    server = await startModelServer({ key: 'from-env' })
    const { url } = server
    const env = {
      OPENAI_API_KEY: 'from-env',
      OPENAI_BASE_URL: `${url}/v1`,
      ANTHROPIC_API_KEY: 'from-env',
      ANTHROPIC_BASE_URL: `${url}/`,
      GEMINI_API_KEY: 'from-env',
      GOOGLE_GEMINI_BASE_URL: url,
      COMPATIBLE_API_KEY: 'from-env',
      COMPATIBLE_BASE_URL: `${url}/v1/`,
      OLLAMA_API_KEY: 'from-env',
      OLLAMA_HOST: url.replace('http://127.0.0.1', '0.0.0.0'),
    }
    const names = ['openai/gpt-5', 'anthropic/claude-x', 'google/gemini-x', 'compatible/x', 'ollama/x']
    for (const name of names) {
      const model = await openModel(name, { env })
      expect(model.id).toBe(name)
      expect(words(await answerOf(model, { messages: [user('hi')] }))).toBe('ok')
    }
    expect(server.requests.map(request => request.path)).toEqual([
      '/v1/responses',
      '/v1/messages',
      '/v1beta/models/gemini-x:streamGenerateContent',
      '/v1/chat/completions',
      '/v1/chat/completions',
    ])
  })

  it.each([
    ['openai/x', { OPENAI_BASE_URL: 'localhost:8000' }],
    ['anthropic/x', { ANTHROPIC_BASE_URL: 'http://' }],
    ['google/x', { GOOGLE_GEMINI_BASE_URL: 'file:///etc/passwd' }],
    ['compatible/x', { COMPATIBLE_BASE_URL: 'nonsense' }],
    ['ollama/x', { OLLAMA_HOST: 'a b' }],
  ])('refuses an invalid URL for %s', async (name, env) => {
    const keys = { openai: 'k', anthropic: 'k', google: 'k' }
    await expect(openModel(name, { env, keys })).rejects.toThrow(/^the base URL of \w+: .* is not a URL/)
  })

  it.each([
    [undefined, 'http://127.0.0.1:11434/v1'],
    [':1234', 'http://127.0.0.1:1234/v1'],
    ['0.0.0.0', 'http://127.0.0.1:11434/v1'],
    ['http://box.local:8080/', 'http://box.local:8080/v1'],
    ['https://ollama.example.com', 'https://ollama.example.com/v1'],
  ])('finds Ollama at %s', async (host, base) => {
    const asked: string[] = []
    const fetch = async (input: unknown) => {
      asked.push(String(input))
      return new Response('{"error":{"message":"no"}}', { status: 400 })
    }
    const model = await openModel('ollama/x', { env: host === undefined ? {} : { OLLAMA_HOST: host }, fetch })
    await expect(answerOf(model, { messages: [user('hi')] })).rejects.toThrow('refused the request (400): no')
    expect(asked).toEqual([`${base}/chat/completions`])
  })

  it('prefers options to the environment, and uses the given fetch', async () => {
    server = await startModelServer({ key: 'given' })
    const fetched: string[] = []
    const model = await openModel('anthropic/claude-x', {
      env: { ANTHROPIC_API_KEY: 'from-env', ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' },
      keys: { anthropic: 'given' },
      baseUrls: { anthropic: server.url },
      fetch: (input, init) => {
        fetched.push(String(input))
        return fetch(input, init)
      },
    })
    expect(words(await answerOf(model, { messages: [user('hi')] }))).toBe('ok')
    expect(fetched).toEqual([`${server.url}/v1/messages`])
  })

  it('asks OpenAI to store nothing, and sends provider options', async () => {
    server = await startModelServer()
    const model = await openModel('openai/gpt-5', {
      env: {},
      keys: { openai: 'k' },
      baseUrls: server.baseUrls,
      providerOptions: { openai: { reasoningEffort: 'low' } },
    })
    await answerOf(model, { messages: [user('hi')] })
    expect(server.requests[0]?.body).toMatchObject({
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low' },
    })
  })

  it('lets Anthropic cache the unchanged beginning', async () => {
    server = await startModelServer()
    const model = await openModel('anthropic/claude-x', {
      env: {},
      keys: { anthropic: 'k' },
      baseUrls: server.baseUrls,
    })
    const system = { role: 'system', content: [{ type: 'text', text: 'be kind' }] } as const
    await answerOf(model, { messages: [system, user('a'), user('b')] })
    const mark = { cache_control: { type: 'ephemeral' } }
    expect(server.requests[0]?.body).toMatchObject({
      system: [mark],
      messages: [{ content: [{ text: 'a' }, { text: 'b', ...mark }] }],
    })
  })

  it('opens the scripted model without a key', async () => {
    expect((await openModel('scripted', { env: {} })).id).toBe('scripted')
  })

  it('loads a provider’s client only when a model is opened', () => {
    const models = JSON.stringify(new URL('../../src/models/index.ts', import.meta.url).href)
    const opening = (name: string) => `
      const { openModel } = await import(${models})
      await openModel('${name}', { env: {}, keys: { openai: 'k' } })`
    const loadedBy = (program: string) =>
      spawnSync(process.execPath, ['--import', hook, '--input-type=module', '-e', program], {
        encoding: 'utf8',
      }).stdout
    expect(loadedBy(opening('scripted'))).toContain('scripted.ts')
    expect(loadedBy(opening('scripted'))).not.toContain('@ai-sdk')
    expect(loadedBy(opening('openai/gpt-5'))).toContain('@ai-sdk/openai')
    expect(loadedBy(opening('openai/gpt-5'))).not.toContain('@ai-sdk/anthropic')
  })
})

/** Prints every loaded module. */
const hook = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({ load(url, context, next) { console.log(url); return next(url, context) } })
`)}`
