import type { SharedV4ProviderMetadata, SharedV4ProviderOptions } from '@ai-sdk/provider'
import { isPlainObject, type JsonObject } from '../core/json.ts'
import { plainJson } from './plain-json.ts'

/** The metadata of a block that a provider wants back: `metadata.provider` has the provider's data by its
 *  name (`{"anthropic": {"signature": "…"}}`), and `metadata.model` the model that wrote it. It is sent back
 *  unchanged to the provider of that name, and to no other. */
export function keptMetadata(
  said: SharedV4ProviderMetadata | undefined,
  model?: string,
): { readonly provider: SharedV4ProviderMetadata; readonly model?: string } | undefined {
  if (said === undefined || Object.keys(said).length === 0) return undefined
  return { provider: said, ...(model !== undefined && { model }) }
}

/** The metadata of a block, if there is any, without undefined and null values. */
export function metadataOf(facts: Readonly<Record<string, unknown>>): { readonly metadata?: JsonObject } {
  const given = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null)
  return given.length === 0 ? {} : { metadata: plainJson(Object.fromEntries(given)) as JsonObject }
}

/** The metadata to send back to the provider with this name; undefined if the block is not its own. If the
 *  name is unknown (null), all metadata is sent back to the model that wrote it, and only to it. */
export function ownOptions(
  metadata: unknown,
  { key }: { readonly key: string | null },
  model: string,
): SharedV4ProviderOptions | undefined {
  if (!isPlainObject(metadata) || !isPlainObject(metadata.provider)) return undefined
  const said = metadata.provider as SharedV4ProviderOptions
  if (key === null) return metadata.model === model ? said : undefined
  const own = Object.hasOwn(said, key) ? said[key] : undefined
  return own === undefined ? undefined : { [key]: own }
}

/** Merges metadata by provider. Later values replace earlier ones. */
export function merged(
  before: SharedV4ProviderMetadata | undefined,
  now: SharedV4ProviderMetadata | undefined,
): SharedV4ProviderMetadata | undefined {
  if (before === undefined || now === undefined) return now ?? before
  const all = { ...before }
  for (const [key, facts] of Object.entries(now)) all[key] = { ...all[key], ...facts }
  return all
}
