import type { CommandContext } from '../command-line/command-context.ts'

/** A provider, and the variables that may hold its key. The first is the one to set. */
export interface ModelProvider {
  readonly name: string
  readonly variables: readonly [string, ...string[]]
  /** False if it also works without a key. */
  readonly needsKey: boolean
  readonly example: string
}

export const providers: readonly ModelProvider[] = [
  {
    name: 'anthropic',
    variables: ['ANTHROPIC_API_KEY'],
    needsKey: true,
    example: 'anthropic/claude-sonnet-5-5',
  },
  { name: 'openai', variables: ['OPENAI_API_KEY'], needsKey: true, example: 'openai/gpt-5.5' },
  {
    name: 'google',
    variables: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    needsKey: true,
    example: 'google/gemini-3.5-flash',
  },
  { name: 'ollama', variables: ['OLLAMA_API_KEY'], needsKey: false, example: 'ollama/llama3.2' },
  { name: 'compatible', variables: ['COMPATIBLE_API_KEY'], needsKey: false, example: 'compatible/my-model' },
]

/** The variable that holds the provider's key, or null. The key itself is not kept. */
function keyVariable({ variables }: ModelProvider, env: CommandContext['env']): string | null {
  return variables.find(variable => env[variable]?.trim()) ?? null
}

/** The variable that the model needs and that is not set, or null. */
export function missingKey(model: string, env: CommandContext['env']): string | null {
  const provider = providers.find(({ name }) => model.toLowerCase().startsWith(`${name}/`))
  return provider?.needsKey && keyVariable(provider, env) === null ? provider.variables[0] : null
}

/** The variables of all keys that are set. */
export function presentKeys(env: CommandContext['env']): readonly string[] {
  return providers.flatMap(provider => keyVariable(provider, env) ?? [])
}
