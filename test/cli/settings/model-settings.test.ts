import { describe, expect, it } from 'vitest'
import { servedHome } from '../model/with-server.ts'
import { ownFile } from './own-file.ts'

describe('the settings of models, from yaml to the request', () => {
  it('have an effect each: model, options.*, models.<name>.*, and a model’s own win', async () => {
    await using here = await servedHome()
    ownFile(here, {
      model: 'mine',
      options: {
        temperature: 0.9,
        top_p: 0.8,
        max_output: 900,
        seed: 7,
        stop: ['END'],
        provider_options: { compatible: { top_k: 5 } },
      },
      models: {
        mine: { model: 'compatible/x' },
        other: {
          model: 'compatible/y',
          temperature: 0.5,
          top_p: 0.4,
          max_output: 400,
          seed: 4,
          stop: 'STOP',
          provider_options: { compatible: { top_k: 4 } },
        },
      },
    })
    const sent = async (...args: readonly string[]) => {
      expect((await here.skein([...args, '-n', 'hi'])).code).toBe(0)
      return here.server.requests.at(-1)?.body
    }
    expect(await sent()).toMatchObject({
      model: 'x',
      temperature: 0.9,
      top_p: 0.8,
      max_tokens: 900,
      seed: 7,
      stop: ['END'],
      top_k: 5,
    })
    expect(await sent('-m', 'other')).toMatchObject({
      model: 'y',
      temperature: 0.5,
      top_p: 0.4,
      max_tokens: 400,
      seed: 4,
      stop: ['STOP'],
      top_k: 4,
    })
  })

  it('have a price for written cache tokens: models.<name>.price.*', async () => {
    const usage = { input: 1_000, output: 200, cacheRead: 400, cacheWrite: 100 }
    await using here = await servedHome({ reply: () => ({ parts: [{ text: 'ok' }], usage }) })
    const price = { input: 1, output: 2, cache_read: 0.5, cache_write: 3 }
    ownFile(here, { models: { 'anthropic/claude-x': { price } } })
    const { stdout } = await here.skein(['-m', 'anthropic/claude-x', '--json', 'hi'])
    const { cost_usd } = JSON.parse(stdout)
    expect(cost_usd).toBeCloseTo((1_000 * 1 + 400 * 0.5 + 100 * 3 + 200 * 2) / 1e6, 10)
  })
})

describe('providers.<name>.key and providers.<name>.base_url', () => {
  const none = {
    OPENAI_API_KEY: undefined,
    OPENAI_BASE_URL: undefined,
    ANTHROPIC_API_KEY: undefined,
    ANTHROPIC_BASE_URL: undefined,
  }

  it('reach the provider, a stored key wins over the file, and variables win over both', async () => {
    await using here = await servedHome()
    ownFile(here, { providers: { openai: { key: 'in-the-file', base_url: here.server.baseUrls.openai } } })
    const keyOf = async (env: NodeJS.ProcessEnv) => {
      const { code, stderr } = await here.skein(['-n', 'hi'], { env: { ...none, ...env } })
      expect(code, stderr).toBe(0)
      const { provider, headers } = here.server.requests.at(-1)!
      return [provider, headers.authorization]
    }
    // A key in the file also chooses the default model.
    expect(await keyOf({})).toEqual(['openai', 'Bearer in-the-file'])
    const stored = await here.skein(['config', 'keys', 'set', 'openai'], { input: 'stored-key\n' })
    expect(stored.code).toBe(0)
    expect(await keyOf({})).toEqual(['openai', 'Bearer stored-key'])
    expect(await keyOf({ OPENAI_API_KEY: 'variable' })).toEqual(['openai', 'Bearer variable'])
  })

  it('are refused in a project’s file, with the line and the reason, before anything is sent', async () => {
    await using here = await servedHome()
    here.configure('model: gpt', 'providers:', '  openai:', `    base_url: ${here.server.url}`)
    const { code, stderr } = await here.skein(['hi'])
    expect([code, here.server.requests.length]).toEqual([2, 0])
    expect(stderr).toContain('skein: ./skein.yaml:2 providers: is only for your own')
    here.configure('discord:', '  token: abc')
    expect((await here.skein(['discord'])).stderr).toContain('./skein.yaml:2 token: is only for your own')
  })
})
