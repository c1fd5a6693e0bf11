import { describe, expect, it } from 'vitest'
import { windowOf } from '../../../src/context/fit/model-windows.ts'
import { budgetOf } from '../../../src/context/fit/window.ts'

const limit = (model: string) => windowOf(model).limit

describe('windowOf', () => {
  it.each([
    ['claude-sonnet-4-5', 200_000],
    ['claude-3-5-sonnet-20241022', 200_000],
    ['gpt-4-turbo', 128_000],
    ['gpt-4o', 128_000],
    ['gpt-4.1-mini', 1_047_576],
    ['gemini-2.5-pro', 1_048_576],
    ['llama3.1', 131_072],
    ['scripted', 128_000],
  ])('looks up a model by its name: %s has %i (S2-35, S2-45)', (model, tokens) => {
    expect(windowOf(model)).toMatchObject({ limit: tokens, known: true })
  })

  it('ignores a provider before the name, and a date or tag after it', () => {
    expect(limit('openai/gpt-4o-2024-08-06')).toBe(128_000)
    expect(limit('openrouter/anthropic/claude-sonnet-4.5')).toBe(limit('claude-sonnet-4-5'))
    expect(limit('bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0')).toBe(200_000)
    expect(limit('compatible/meta-llama/Llama-3.3-70B-Instruct')).toBe(131_072)
  })

  it('uses the longest matching prefix', () => {
    expect(limit('gpt-4')).toBe(8_192)
    expect(limit('gpt-4-0613')).toBe(8_192)
    expect(limit('gpt-4-turbo-2024-04-09')).toBe(128_000)
    expect(limit('gpt-5.4')).toBe(1_050_000)
    expect(limit('gpt-5.4-mini-2026-03-17')).toBe(272_000)
    expect(limit('claude-opus-4-1')).toBe(200_000)
    expect(limit('claude-opus-4-8')).toBe(1_000_000)
  })

  it('limits the context of GPT-5 to 272,000 of its 400,000 tokens', () => {
    for (const model of ['gpt-5', 'gpt-5-mini', 'openai/gpt-5.1', 'gpt-5.2-pro', 'gpt-5.3-codex'])
      expect(budgetOf({ limit: limit(model) })).toBeLessThan(272_000)
    expect(budgetOf({ limit: limit('gpt-5.6-sol') })).toBeLessThan(922_000)
  })

  it('does not match a name that only begins with the same letters', () => {
    expect(windowOf('o10')).toMatchObject({ known: false })
    expect(windowOf('gpt-4omni')).toMatchObject({ known: false })
  })

  it('returns at most 32,768 for Ollama', () => {
    expect(limit('ollama/llama3.1:8b')).toBe(32_768)
    expect(limit('ollama/llama2')).toBe(4_096)
  })

  it('returns a cautious guess for an unknown model (S2-45)', () => {
    expect(windowOf('acme/brain-7')).toEqual({ limit: 32_768, output: 4_096, known: false })
  })

  it('uses an override of the caller', () => {
    const overrides = {
      'acme/brain': 65_536,
      'gpt-4o': { limit: 64_000, output: 1_000 },
      'ollama/llama3.1': 8_192,
    }
    expect(windowOf('acme/brain-7', overrides)).toEqual({ limit: 65_536, output: 4_096, known: true })
    expect(windowOf('openai/gpt-4o-mini', overrides)).toEqual({ limit: 64_000, output: 1_000, known: true })
    expect(windowOf('ollama/llama3.1:8b', overrides)).toMatchObject({ limit: 8_192 })
    expect(windowOf('openai/gpt-4.1', overrides)).toMatchObject({ limit: 1_047_576 })
  })
})
