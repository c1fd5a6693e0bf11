import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/folder.ts'
import { providerVariables, setVariable } from '../../config/provider-settings.ts'

/** A provider, and the variables that may hold its key. The first is the one to set. */
export interface ModelProvider {
  readonly name: string
  readonly variables: readonly [string, ...string[]]
  /** False if it also works without a key. */
  readonly needsKey: boolean
  readonly example: string
}

const known: readonly Omit<ModelProvider, 'variables'>[] = [
  { name: 'anthropic', needsKey: true, example: 'anthropic/claude-sonnet-5-5' },
  { name: 'openai', needsKey: true, example: 'openai/gpt-5.5' },
  { name: 'google', needsKey: true, example: 'google/gemini-3.5-flash' },
  { name: 'ollama', needsKey: false, example: 'ollama/llama3.2' },
  { name: 'compatible', needsKey: false, example: 'compatible/my-model' },
]

export const providers: readonly ModelProvider[] = known.map(one => ({
  ...one,
  variables: providerVariables[one.name]!.key,
}))

/** Where the key of a provider comes from: a variable, or a file of the user. */
export type KeySource = { readonly variable: string } | { readonly file: string }

/** The settings that hold keys. */
type KeySettings = Pick<Config, 'providers' | 'sources'>

/** Where the key of this provider comes from; null if it is not set. The key itself is not returned. */
export function keySource(
  { name, variables }: ModelProvider,
  env: Environment,
  { providers: settings, sources }: KeySettings,
): KeySource | null {
  const variable = setVariable(variables, env)
  if (variable !== null) return { variable }
  const source = sources[`providers.${name}.key`]
  if ((settings[name]?.key ?? null) === null || source === undefined || !('file' in source)) return null
  return { file: source.kind === 'file' ? `${source.file}:${source.line}` : source.file }
}

/** The variable that the model needs, if its key is set neither there nor in a file; otherwise null. */
export function missingKey(
  model: string,
  env: Environment,
  { providers: settings }: Pick<Config, 'providers'>,
): string | null {
  const provider = providers.find(({ name }) => model.toLowerCase().startsWith(`${name}/`))
  if (!provider?.needsKey || setVariable(provider.variables, env) !== null) return null
  return (settings[provider.name]?.key ?? null) === null ? provider.variables[0] : null
}
