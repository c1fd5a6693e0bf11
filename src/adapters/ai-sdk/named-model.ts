import type { LanguageModelV4 } from '@ai-sdk/provider'
import { InvalidError } from '../../core/errors.ts'
import { type AnyLanguageModel, asLanguageModel } from '../../models/language-model.ts'

interface Provider {
  languageModel(name: string): AnyLanguageModel
}

/** A model that the AI SDK knows by name, resolved as `generateText({ model: 'openai/gpt-5' })` resolves it:
 *  by the default provider of the process, or else by the SDK's gateway. */
export function namedModel(name: string): LanguageModelV4 {
  if (name.trim() === '') throw new InvalidError('model', 'must not be empty')
  const slash = name.indexOf('/')
  let found: Promise<LanguageModelV4> | null = null
  const model = () => {
    found ??= resolve(name)
    return found
  }
  return {
    specificationVersion: 'v4',
    provider: slash === -1 ? 'gateway' : name.slice(0, slash),
    modelId: name.slice(slash + 1),
    get supportedUrls() {
      return model().then(({ supportedUrls }) => supportedUrls)
    },
    doGenerate: async options => (await model()).doGenerate(options),
    doStream: async options => (await model()).doStream(options),
  }
}

async function resolve(name: string): Promise<LanguageModelV4> {
  const { AI_SDK_DEFAULT_PROVIDER: chosen } = globalThis as { AI_SDK_DEFAULT_PROVIDER?: Provider }
  const provider: Provider = chosen ?? (await import('ai')).gateway
  return asLanguageModel(provider.languageModel(name))
}
