import { InvalidError, MissingKeyError } from '../core/errors.ts'
import type { ModelAccess } from './failure-texts.ts'
import type { ModelOfOptions } from './wrap.ts'

/** The settings for opening a model. Options take precedence over the environment. */
export interface Settings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly keys: Readonly<Record<string, string | undefined>>
  readonly baseUrls: Readonly<Record<string, string | undefined>>
  readonly fetch: { readonly fetch?: typeof globalThis.fetch }
  readonly model: Omit<ModelOfOptions, 'id' | 'keys' | 'dialect'>
}

/** An environment variable. An empty one counts as unset. */
export function setting(settings: Settings, variable: string): string | undefined {
  const value = settings.env[variable]?.trim()
  return value === '' ? undefined : value
}

/** The provider's key, from the options or the first variable that is set. */
export function keyOf(
  provider: string,
  variables: readonly string[],
  settings: Settings,
): string | undefined {
  const given = settings.keys[provider]?.trim()
  if (given !== undefined && given !== '') return given
  return variables.map(variable => setting(settings, variable)).find(value => value !== undefined)
}

/** The variable that `keyOf` reads the key from, for `ModelAccess`; empty if the key is an option. */
export function keyAccess(
  provider: string,
  variables: readonly string[],
  settings: Settings,
): Pick<ModelAccess, 'keyVariable'> {
  if (settings.keys[provider]?.trim()) return {}
  const keyVariable = variables.find(variable => setting(settings, variable) !== undefined) ?? variables[0]
  return keyVariable === undefined ? {} : { keyVariable }
}

/** Throws MissingKeyError, naming the first variable. */
export function neededKey(
  provider: string,
  variables: readonly [string, ...string[]] | readonly string[],
  settings: Settings,
): string {
  const key = keyOf(provider, variables, settings)
  if (key === undefined) throw new MissingKeyError(provider, variables[0] ?? '')
  return key
}

/** The first URL that is given. Throws InvalidError if it is invalid, before a client fails with it. */
export function addressOf(provider: string, ...given: readonly (string | undefined)[]): string {
  const url = given.find(one => one !== undefined) ?? ''
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  const problem = `${JSON.stringify(url.slice(0, 100))} is not a URL: it must begin with http:// or https://`
  throw new InvalidError(`the base URL of ${provider}`, problem)
}

/** A URL with its version: other tools set the same variables without one. */
export function versioned(url: string, version: string): string {
  return /\/v\d+\w*$/.test(url) ? url : `${url}/${version}`
}
