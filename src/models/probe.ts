import { isPlainObject, type Json } from '../core/json.ts'
import { anthropicAddress } from './anthropic.ts'
import { ollamaAddress } from './compatible.ts'
import { googleAddress } from './google.ts'
import type { OpenModelOptions, ProviderName } from './open.ts'
import { openaiAddress } from './openai.ts'
import { addressOf, keyOf, type Settings, setting } from './settings.ts'

/** What a provider says about a key and a model. No model is called, so it costs nothing. */
export type ProbeResult =
  | { readonly outcome: 'ok' }
  /** The key is not accepted. */
  | { readonly outcome: 'key_refused'; readonly status: number }
  | { readonly outcome: 'no_model' }
  /** The provider could not be reached, or answered something else. */
  | { readonly outcome: 'unknown'; readonly reason: string }

/** How long a provider may take to answer. */
const patienceMs = 10_000

/** Asks the provider of a model whether it accepts the key, and whether it has the model: `openai/gpt-5`.
 *  Never throws. */
export async function probeModel(
  id: string,
  options: Pick<OpenModelOptions, 'env' | 'keys' | 'baseUrls'> = {},
): Promise<ProbeResult> {
  const slash = id.indexOf('/')
  const provider = id.slice(0, slash) as ProviderName
  const model = id.slice(slash + 1)
  const { env = process.env, keys = {}, baseUrls = {} } = options
  const settings: Settings = { env, keys, baseUrls, fetch: {}, model: {} }
  try {
    const { address, headers } = accessOf(provider, settings)
    const one = await get(`${address}/models/${model.split('/').map(encodeURIComponent).join('/')}`, headers)
    if (one.status === 401 || one.status === 403) return { outcome: 'key_refused', status: one.status }
    // Google refuses a wrong key as a bad request.
    if (one.status === 400 && /api.?key/i.test(one.text)) return { outcome: 'key_refused', status: 400 }
    if (one.status === 200) return { outcome: 'ok' }
    if (one.status !== 404) return { outcome: 'unknown', reason: `it answered ${one.status}` }
    return await inList(model, `${address}/models`, headers)
  } catch (error) {
    return { outcome: 'unknown', reason: reasonOf(error) }
  }
}

/** Some compatible servers have a list of models, but no address for one of them. */
async function inList(model: string, url: string, headers: Headers): Promise<ProbeResult> {
  const all = await get(url, headers)
  if (all.status === 401 || all.status === 403) return { outcome: 'key_refused', status: all.status }
  const listed = all.status === 200 ? namesIn(all.text) : []
  return listed.includes(model) ? { outcome: 'ok' } : { outcome: 'no_model' }
}

type Headers = Readonly<Record<string, string>>

function accessOf(
  provider: ProviderName,
  settings: Settings,
): { readonly address: string; readonly headers: Headers } {
  const bearer = (variable: string): Headers => {
    const key = keyOf(provider, [variable], settings)
    return key === undefined ? {} : { authorization: `Bearer ${key}` }
  }
  switch (provider) {
    case 'anthropic': {
      const key = keyOf('anthropic', ['ANTHROPIC_API_KEY'], settings) ?? ''
      return {
        address: anthropicAddress(settings),
        headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
      }
    }
    case 'google': {
      const key = keyOf('google', ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'], settings) ?? ''
      return { address: googleAddress(settings), headers: { 'x-goog-api-key': key } }
    }
    case 'openai':
      return { address: openaiAddress(settings), headers: bearer('OPENAI_API_KEY') }
    case 'ollama':
      return { address: ollamaAddress(settings), headers: bearer('OLLAMA_API_KEY') }
    case 'compatible': {
      const given = settings.baseUrls.compatible ?? setting(settings, 'COMPATIBLE_BASE_URL')
      return { address: addressOf('compatible', given), headers: bearer('COMPATIBLE_API_KEY') }
    }
    default:
      return provider satisfies never
  }
}

async function get(
  url: string,
  headers: Headers,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(patienceMs), redirect: 'error' })
  return { status: response.status, text: (await response.text()).slice(0, 1_000_000) }
}

function namesIn(text: string): readonly string[] {
  const list: Json = JSON.parse(text)
  const items = isPlainObject(list) ? (list.data ?? list.models) : null
  if (!Array.isArray(items)) return []
  return items.flatMap(item => (isPlainObject(item) && typeof item.id === 'string' ? item.id : []))
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${patienceMs / 1_000} s`
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return code === '' ? error.message : code
}
