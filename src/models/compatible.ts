import type { Model } from '../core/model.ts'
import { chatDialect } from './dialect.ts'
import { badName } from './errors.ts'
import { keyOf, type Settings, setting, versioned } from './settings.ts'
import { modelOf } from './wrap.ts'

export async function openCompatible(name: string, settings: Settings): Promise<Model> {
  const baseURL = settings.baseUrls.compatible ?? setting(settings, 'COMPATIBLE_BASE_URL')
  if (baseURL === undefined) {
    throw badName(
      `compatible/${name}`,
      'needs a server: set COMPATIBLE_BASE_URL, for example to http://127.0.0.1:8000/v1',
    )
  }
  return openChat(
    'compatible',
    name,
    baseURL,
    keyOf('compatible', ['COMPATIBLE_API_KEY'], settings),
    settings,
  )
}

export async function openOllama(name: string, settings: Settings): Promise<Model> {
  const host = settings.baseUrls.ollama ?? setting(settings, 'OLLAMA_HOST') ?? '127.0.0.1:11434'
  return openChat(
    'ollama',
    name,
    versioned(reachable(host), 'v1'),
    keyOf('ollama', ['OLLAMA_API_KEY'], settings),
    settings,
  )
}

async function openChat(
  provider: string,
  name: string,
  baseURL: string,
  apiKey: string | undefined,
  settings: Settings,
): Promise<Model> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const key = apiKey === undefined ? {} : { apiKey }
  const client = createOpenAICompatible({
    name: provider,
    baseURL,
    includeUsage: true,
    ...key,
    ...settings.fetch,
  })
  const keys = apiKey === undefined ? [] : [apiKey]
  return modelOf(client(name), {
    ...settings.model,
    id: `${provider}/${name}`,
    keys,
    dialect: chatDialect(provider),
  })
}

/** `OLLAMA_HOST` is what the server listens on: often without a scheme or a port, or any address. */
function reachable(host: string): string {
  const url = new URL(/^https?:\/\//.test(host) ? host : `http://${host}`)
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  if (url.port === '' && url.protocol === 'http:' && !/:80(\/|$)/.test(host)) url.port = '11434'
  return url.toString()
}
