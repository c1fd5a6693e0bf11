import type { Model } from '../core/model.ts'
import { chatDialect, type Dialect, ollamaDialect } from './dialect.ts'
import { badName } from './errors.ts'
import { addressOf, keyAccess, keyOf, type Settings, setting, versioned } from './settings.ts'
import { modelOf } from './wrap.ts'

/** Opens a model of any server with OpenAI's chat protocol: vLLM, llama.cpp, LM Studio, OpenRouter, Groq,
 *  DeepSeek … */
export async function openCompatible(name: string, settings: Settings): Promise<Model> {
  const given = settings.baseUrls.compatible ?? setting(settings, 'COMPATIBLE_BASE_URL')
  if (given === undefined) {
    const help = 'needs a server: set COMPATIBLE_BASE_URL, for example to http://127.0.0.1:8000/v1'
    throw badName(`compatible/${name}`, help)
  }
  const keyVariables = ['COMPATIBLE_API_KEY']
  const baseURL = addressOf('compatible', given)
  const addressVariable = settings.baseUrls.compatible === undefined ? 'COMPATIBLE_BASE_URL' : undefined
  const dialect = chatDialect('compatible')
  return openChat({ provider: 'compatible', name, baseURL, keyVariables, addressVariable, dialect }, settings)
}

export async function openOllama(name: string, settings: Settings): Promise<Model> {
  const baseURL = ollamaAddress(settings)
  const keyVariables = ['OLLAMA_API_KEY']
  return openChat(
    { provider: 'ollama', name, baseURL, keyVariables, addressVariable: undefined, dialect: ollamaDialect },
    settings,
  )
}

/** The address of the API that is compatible with OpenAI's. */
export function ollamaAddress(settings: Settings): string {
  const host = settings.baseUrls.ollama ?? setting(settings, 'OLLAMA_HOST') ?? '127.0.0.1:11434'
  return versioned(addressOf('ollama', reachable(host)), 'v1')
}

interface ChatServer {
  readonly provider: string
  readonly name: string
  readonly baseURL: string
  readonly keyVariables: readonly string[]
  readonly addressVariable: string | undefined
  readonly dialect: Dialect
}

async function openChat(
  { provider, name, baseURL, keyVariables, addressVariable, dialect }: ChatServer,
  settings: Settings,
): Promise<Model> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const apiKey = keyOf(provider, keyVariables, settings)
  const access = {
    ...keyAccess(provider, keyVariables, settings),
    address: baseURL,
    ...(addressVariable === undefined ? {} : { addressVariable }),
  }
  const key = apiKey === undefined ? {} : { apiKey }
  const keys = apiKey === undefined ? [] : [apiKey]
  const client = createOpenAICompatible({
    name: provider,
    baseURL,
    includeUsage: true,
    ...key,
    ...settings.fetch,
  })
  return modelOf(client(name), { ...settings.model, id: `${provider}/${name}`, keys, access, dialect })
}

/** The URL of `OLLAMA_HOST`, which is the address that the server listens on: often without scheme, host or
 *  port, or 0.0.0.0. */
function reachable(host: string): string {
  const whole = /^https?:\/\//.test(host) ? host : `http://${host.startsWith(':') ? '127.0.0.1' : ''}${host}`
  if (!URL.canParse(whole)) return host
  const url = new URL(whole)
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  if (url.port === '' && url.protocol === 'http:' && !/:80(\/|$)/.test(host)) url.port = '11434'
  return url.toString()
}
