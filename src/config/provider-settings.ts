import { similarWords } from '../core/similar-words.ts'
import type { Environment } from './folder.ts'
import type { Section } from './section.ts'
import { onlyDeclared, readSetting, type SectionDeclaration, valueSetting } from './setting.ts'
import { address, text } from './values.ts'

/** How a provider of models is reached. Null: not set in a file. */
export interface ProviderSettings {
  /** The API key. */
  readonly key: string | null
  readonly baseUrl: string | null
}

/** The environment variables of a provider. Of several, the first that is set counts. */
interface ProviderVariables {
  readonly key: readonly [string, ...string[]]
  readonly baseUrl: readonly [string, ...string[]]
}

/** The providers, and the variables that override their settings. */
export const providerVariables: Readonly<Record<string, ProviderVariables>> = {
  anthropic: { key: ['ANTHROPIC_API_KEY'], baseUrl: ['ANTHROPIC_BASE_URL'] },
  openai: { key: ['OPENAI_API_KEY'], baseUrl: ['OPENAI_BASE_URL'] },
  google: {
    key: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    baseUrl: ['GOOGLE_GENERATIVE_AI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'],
  },
  ollama: { key: ['OLLAMA_API_KEY'], baseUrl: ['OLLAMA_HOST'] },
  compatible: { key: ['COMPATIBLE_API_KEY'], baseUrl: ['COMPATIBLE_BASE_URL'] },
}

const providerFileSettings = {
  key: valueSetting(
    text,
    'none',
    'The API key. `skein config keys set <name>` stores it outside of this file. It is never shown.',
  ),
  base_url: valueSetting(
    address,
    'that of the provider',
    'The address of the API, for proxies and for servers that are compatible.',
  ),
}

/** The sections of providers. */
export const providerSection: SectionDeclaration = {
  path: 'providers.<name>',
  about:
    `How a provider of models is reached: ${Object.keys(providerVariables).join(', ')}. Only in your own file: a ` +
    'project’s file may come with a clone, and could send your prompts to another server.',
  settings: providerFileSettings,
  example: `providers:
  openai:
    key: sk-abc
    base_url: https://proxy.example.org/v1`,
}

/** Why a setting is refused in a project's file. */
export const ownFileOnly =
  'is only for your own ~/.config/skein/skein.yaml: a project must not choose keys or servers. Move it: skein config edit --user'

/** Adds the section `providers` of the user's own file. */
export function readProviders(
  root: Section,
  before: Readonly<Record<string, ProviderSettings>>,
): Readonly<Record<string, ProviderSettings>> {
  const providers = { ...before }
  for (const [name, section] of root.sections('providers')) {
    if (!Object.hasOwn(providerVariables, name)) {
      const known = Object.keys(providerVariables)
      const [near] = similarWords(name, known)
      const meant = near === undefined ? '' : ` Did you mean ${near}?`
      section.refuse(name, `unknown provider.${meant} Known: ${known.join(', ')}`)
      continue
    }
    onlyDeclared(section, providerSection)
    const earlier = providers[name]
    providers[name] = {
      key: readSetting(section, 'key', providerFileSettings.key) ?? earlier?.key ?? null,
      baseUrl: readSetting(section, 'base_url', providerFileSettings.base_url) ?? earlier?.baseUrl ?? null,
    }
  }
  return providers
}

/** The keys and addresses of the files that no variable overrides. */
export interface ProviderAccess {
  readonly keys: Readonly<Record<string, string>>
  readonly baseUrls: Readonly<Record<string, string>>
}

/** What the files say about providers, without that which the environment overrides. */
export function providerAccess(
  env: Environment,
  providers: Readonly<Record<string, ProviderSettings>>,
): ProviderAccess {
  const keys: Record<string, string> = {}
  const baseUrls: Record<string, string> = {}
  for (const [name, { key, baseUrl }] of Object.entries(providers)) {
    const variables = providerVariables[name]!
    if (key !== null && setVariable(variables.key, env) === null) keys[name] = key
    if (baseUrl !== null && setVariable(variables.baseUrl, env) === null) baseUrls[name] = baseUrl
  }
  return { keys, baseUrls }
}

/** The first of these variables that is set. An empty one counts as unset. */
export function setVariable(variables: readonly string[], env: Environment): string | null {
  return variables.find(variable => env[variable]?.trim()) ?? null
}
