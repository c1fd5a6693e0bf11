import type { Model } from '../core/model.ts'
import { anthropicDialect } from './dialect.ts'
import { addressOf, keyAccess, neededKey, type Settings, setting, versioned } from './settings.ts'
import { modelOf } from './wrap.ts'

export async function openAnthropic(name: string, settings: Settings): Promise<Model> {
  const apiKey = neededKey('anthropic', ['ANTHROPIC_API_KEY'], settings)
  const baseURL = anthropicAddress(settings)
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

/** The address of the API. */
export function anthropicAddress(settings: Settings): string {
  const given = [
    settings.baseUrls.anthropic,
    setting(settings, 'ANTHROPIC_BASE_URL'),
    'https://api.anthropic.com',
  ]
  return versioned(addressOf('anthropic', ...given), 'v1')
}
