import type { Model } from '../core/model.ts'
import { anthropicDialect } from './dialect.ts'
import { addressOf, keyAccess, neededKey, type Settings, setting, versioned } from './settings.ts'
import { modelOf } from './wrap.ts'

export async function openAnthropic(name: string, settings: Settings): Promise<Model> {
  const apiKey = neededKey('anthropic', ['ANTHROPIC_API_KEY'], settings)
  const given = [
    settings.baseUrls.anthropic,
    setting(settings, 'ANTHROPIC_BASE_URL'),
    'https://api.anthropic.com',
  ]
  const baseURL = versioned(addressOf('anthropic', ...given), 'v1')
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  const provider = createAnthropic({ apiKey, baseURL, ...settings.fetch })
  return modelOf(provider(name), {
    ...settings.model,
    id: `anthropic/${name}`,
    keys: [apiKey],
    access: { ...keyAccess('anthropic', ['ANTHROPIC_API_KEY'], settings), address: baseURL },
    dialect: anthropicDialect,
  })
}
