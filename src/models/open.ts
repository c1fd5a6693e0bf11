import { InvalidError } from '../core/errors.ts'
import { typeName } from '../core/json.ts'
import type { Model, ModelOptions } from '../core/model.ts'
import { openAnthropic } from './anthropic.ts'
import { openCompatible, openOllama } from './compatible.ts'
import { badName } from './errors.ts'
import { openGoogle } from './google.ts'
import type { ModelPrice } from './model-prices.ts'
import { openOpenai } from './openai.ts'
import type { RetryPolicy } from './retry.ts'
import { scripted } from './scripted.ts'
import type { Settings } from './settings.ts'

/** The providers that `openModel` knows. */
export type ProviderName = 'openai' | 'anthropic' | 'google' | 'ollama' | 'compatible'

/** Keys, addresses and retries of a provider, which take precedence over the environment, and the default
 *  options of the calls: those of a request take precedence. */
export interface OpenModelOptions extends ModelOptions {
  /** The environment. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** API keys by provider. Default: the provider's variable, such as `ANTHROPIC_API_KEY`. */
  readonly keys?: Readonly<Partial<Record<ProviderName, string>>>
  /** Addresses by provider, for proxies and compatible servers. Default: the provider's variable, or its own
   *  address. */
  readonly baseUrls?: Readonly<Partial<Record<ProviderName, string>>>
  /** Makes the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** When to retry a failed call. `false` disables retries. */
  readonly retry?: RetryPolicy | false
  /** What the model costs. Default: the published price, if it is known. */
  readonly price?: ModelPrice
}

const providers: Readonly<Record<ProviderName, (name: string, settings: Settings) => Promise<Model>>> = {
  openai: openOpenai,
  anthropic: openAnthropic,
  google: openGoogle,
  ollama: openOllama,
  compatible: openCompatible,
}

const example: Readonly<Record<ProviderName, string>> = {
  openai: 'openai/gpt-5',
  anthropic: 'anthropic/claude-sonnet-5-5',
  google: 'google/gemini-2.5-pro',
  ollama: 'ollama/llama3.2',
  compatible: 'compatible/my-model',
}

/** Opens a model by provider and name: `openai/gpt-5`, `anthropic/…`, `google/…`, `ollama/…`, `compatible/…`,
 *  or `scripted`, which needs no key. Loads the provider's client; makes no request. Throws MissingKeyError
 *  or InvalidError.
 *
 * @example
 * ```ts
 * import { createAgent } from 'skein/agent'
 * import { openModel } from 'skein/models'
 *
 * // 'anthropic/claude-sonnet-4-5', 'openai/gpt-5', 'ollama/llama3.2' … 'scripted' needs no key.
 * const model = await openModel('scripted')
 * await using agent = createAgent({ model })
 * console.log((await agent.ask('talk', 'My name is Ada.')).text) // Nice to meet you, Ada.
 * ```
 */
export async function openModel(name: string, options: OpenModelOptions = {}): Promise<Model> {
  // Most likely an environment variable that is not set.
  if (typeof name !== 'string')
    throw new InvalidError('model', `must be text such as ${example.openai}, got ${typeName(name)}`)
  const wanted = name.trim()
  if (wanted === 'scripted') return scripted()
  const slash = wanted.indexOf('/')
  const [provider, model] =
    slash === -1 ? ['', wanted] : [wanted.slice(0, slash).toLowerCase(), wanted.slice(slash + 1)]
  if (!isProvider(provider))
    throw badName(name, slash === -1 ? withoutProvider(wanted) : unknownProvider(provider))
  if (model.trim() === '') throw badName(name, `names no model: ${example[provider]} would be one`)
  const { env = process.env, keys = {}, baseUrls, fetch, ...ofModel } = options
  return providers[provider](model, {
    env,
    keys,
    baseUrls: filled(baseUrls),
    fetch: fetch === undefined ? {} : { fetch },
    model: ofModel,
  })
}

function isProvider(name: string): name is ProviderName {
  return Object.hasOwn(providers, name)
}

/** Empty options count as missing, as in the environment. */
function filled(values: Readonly<Record<string, string | undefined>> = {}): Readonly<Record<string, string>> {
  const all = Object.entries(values).flatMap(([key, value]) =>
    value?.trim() ? [[key, value.trim()] as const] : [],
  )
  return Object.fromEntries(all)
}

function unknownProvider(provider: string): string {
  const near = Object.keys(providers).find(known => known.startsWith(provider.slice(0, 3)) && provider !== '')
  const meant = near === undefined ? '' : `did you mean ${near}/…? `
  return `is of an unknown provider: ${meant}known are ${Object.values(example).join(', ')} and scripted`
}

function withoutProvider(model: string): string {
  const likely = likelyProvider(model)
  if (likely !== null && model !== '') return `has no provider: did you mean ${likely}/${model}?`
  return `has no provider: write it as ${Object.values(example).join(', ')} or scripted`
}

function likelyProvider(model: string): ProviderName | null {
  if (isProvider(model.toLowerCase())) return null
  if (/^(gpt|o\d|chatgpt|codex)/i.test(model)) return 'openai'
  if (/^(claude|sonnet|opus|haiku)/i.test(model)) return 'anthropic'
  if (/^(gemini|gemma-\d+b-it$)/i.test(model)) return 'google'
  return /^(llama|mistral|qwen|gemma|phi|deepseek|codellama|mixtral)|:/i.test(model) ? 'ollama' : null
}
