import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ModelServer } from '../../support/models/server.ts'

export const providers = ['openai', 'openai-chat', 'anthropic'] as const
export type Provider = (typeof providers)[number]

/** A model of the AI SDK that calls the loopback server. */
export function modelOf(provider: Provider, { baseUrls }: Pick<ModelServer, 'baseUrls'>): LanguageModelV4 {
  const apiKey = 'key'
  if (provider === 'anthropic')
    return createAnthropic({ apiKey, baseURL: baseUrls.anthropic })('claude-sonnet-4-5')
  if (provider === 'openai') return createOpenAI({ apiKey, baseURL: baseUrls.openai })('gpt-5')
  return createOpenAICompatible({ apiKey, baseURL: baseUrls.compatible, name: 'local' })('llama')
}
