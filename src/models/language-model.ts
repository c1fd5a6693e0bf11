import type { LanguageModelV4 } from '@ai-sdk/provider'
import { InvalidError } from '../core/errors.ts'

/** Throws InvalidError if the value is not a language model of the AI SDK 7. */
export function checkLanguageModel(model: LanguageModelV4): void {
  const found: unknown = model?.specificationVersion
  if (found === 'v4') return
  const problem = `a language model of the AI SDK 7 is needed (specification v4, not ${found ?? 'none'})`
  throw new InvalidError('model', problem)
}

/** The name in the form of `openModel`: `openai/gpt-5`. */
export function languageModelName({
  provider,
  modelId,
}: Pick<LanguageModelV4, 'provider' | 'modelId'>): string {
  return `${provider.split('.')[0]}/${modelId}`
}
