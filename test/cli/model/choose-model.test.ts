import { describe, expect, it } from 'vitest'
import { fullModelName } from '../../../src/api/full-model-name.ts'
import { chooseModel } from '../../../src/cli/model/choose-model.ts'
import { modelName } from '../../../src/core/model-name.ts'

describe('chooseModel', () => {
  const none = { model: null, models: {}, providers: {} }
  const args = (model?: string) => ({ arguments: [], options: model === undefined ? {} : { model } })

  it('prefers the flag, then SKEIN_MODEL, the configuration, the key that is set, and the built-in model', () => {
    const env = { SKEIN_MODEL: 'gpt-5.2', ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' }
    const config = { model: 'fast', models: { fast: 'ollama/llama3.2' }, providers: {} }
    expect(chooseModel(args('fast'), env, config)).toMatchObject({ id: 'ollama/llama3.2', from: 'flag' })
    expect(chooseModel(args(), env, config)).toMatchObject({ id: 'openai/gpt-5.2', from: 'environment' })
    const keys = { ANTHROPIC_API_KEY: ' ', OPENAI_API_KEY: 'k' }
    expect(chooseModel(args(), keys, config)).toMatchObject({ id: 'ollama/llama3.2', from: 'configuration' })
    expect(chooseModel(args(), keys, none)).toMatchObject({
      id: expect.stringMatching(/^openai\//),
      from: 'key',
    })
    expect(chooseModel(args(), {}, none)).toMatchObject({ id: 'scripted', from: 'nothing' })
    expect(() => chooseModel(args(' '), {}, none)).toThrow('must not be empty')
  })

  it('accepts short names', () => {
    const full = [
      'sonnet-4.5',
      'claude-opus-4-5',
      'gpt-5.2',
      'o3',
      'gemini-2.5-pro',
      'scripted',
      'x/y',
      'what',
    ].map(name => fullModelName(name))
    expect(full).toEqual([
      'anthropic/claude-sonnet-4-5',
      'anthropic/claude-opus-4-5',
      'openai/gpt-5.2',
      'openai/o3',
      'google/gemini-2.5-pro',
      'scripted',
      'x/y',
      'what',
    ])
    expect(fullModelName('sonnet', { sonnet: 'compatible/mine' })).toBe('compatible/mine')
    expect(fullModelName('constructor')).toBe('constructor')
    expect(modelName('anthropic/claude-sonnet-4-5-20250929')).toBe('sonnet-4.5')
  })
})
