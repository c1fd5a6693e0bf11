import type { Model } from '../core/model.ts'
import { openaiDialect } from './dialect.ts'
import { addressOf, keyAccess, neededKey, type Settings, setting } from './settings.ts'
import { modelOf } from './wrap.ts'

export async function openOpenai(name: string, settings: Settings): Promise<Model> {
  const apiKey = neededKey('openai', ['OPENAI_API_KEY'], settings)
  const baseURL = openaiAddress(settings)
  const { createOpenAI } = await import('@ai-sdk/openai')
  const provider = createOpenAI({ apiKey, baseURL, ...settings.fetch })
  const dialect = openaiDialect
  return modelOf(provider.responses(name), {
    ...settings.model,
    id: `openai/${name}`,
    keys: [apiKey],
    access: { ...keyAccess('openai', ['OPENAI_API_KEY'], settings), address: baseURL },
    dialect,
  })
}

/** The address of the API. */
export function openaiAddress(settings: Settings): string {
  const given = [settings.baseUrls.openai, setting(settings, 'OPENAI_BASE_URL'), 'https://api.openai.com/v1']
  return addressOf('openai', ...given)
}
