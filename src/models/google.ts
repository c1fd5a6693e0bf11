import type { Model } from '../core/model.ts'
import { googleDialect } from './dialect.ts'
import { addressOf, keyAccess, neededKey, type Settings, setting, versioned } from './settings.ts'
import { modelOf } from './wrap.ts'

export async function openGoogle(name: string, settings: Settings): Promise<Model> {
  const variables = ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'] as const
  const apiKey = neededKey('google', variables, settings)
  const baseURL = googleAddress(settings)
  const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
  const provider = createGoogleGenerativeAI({
    apiKey,
    baseURL,
    ...settings.fetch,
  })
  return modelOf(provider(name), {
    ...settings.model,
    id: `google/${name}`,
    keys: [apiKey],
    access: { ...keyAccess('google', variables, settings), address: baseURL },
    dialect: googleDialect,
  })
}

/** The address of the API. */
export function googleAddress(settings: Settings): string {
  const given = [
    settings.baseUrls.google,
    setting(settings, 'GOOGLE_GENERATIVE_AI_BASE_URL'),
    setting(settings, 'GOOGLE_GEMINI_BASE_URL'),
    'https://generativelanguage.googleapis.com',
  ]
  return versioned(addressOf('google', ...given), 'v1beta')
}
