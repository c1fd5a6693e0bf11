import { checkName } from '../../core/check.ts'
/** The window of a model. */
export interface ModelWindow {
  /** Tokens of the context and the answer together; fewer if the provider limits the context itself. */
  readonly limit: number
  /** Most tokens of an answer. */
  readonly output: number
  /** False if the model is neither in the table nor in the overrides: then this is a guess. */
  readonly known: boolean
}

/** Windows given by the caller, by the model's name or any prefix of it. */
export type WindowOverrides = Readonly<
  Record<string, number | { readonly limit: number; readonly output?: number }>
>

/** The window of an unknown model. Most models have at least this. A context that is too small is only
 *  shorter; one that is too large is refused, or silently cut. */
const unknownWindow = { limit: 32_768, output: 4_096 } as const

/** Ollama uses the context size that it was started with, not the model's, and silently cuts longer input. By
 *  its documentation that is 4,096 tokens with less than 24 GiB of video memory, 32,768 with less than 48,
 *  and 262,144 above, unless `OLLAMA_CONTEXT_LENGTH` or the model's `num_ctx` is set. Use an override for
 *  less than this. */
const ollamaLimit = 32_768

/** Prefixes of names, in lower case, without provider; the longest match counts. Limit, then output. Taken in
 *  November 2026 from the providers' pages: platform.claude.com/docs/en/models,
 *  developers.openai.com/api/docs/models, ai.google.dev/gemini-api/docs/models; for open models from their
 *  model cards. The smaller number, if a window is granted only on request, or hosts differ. */
const families: Readonly<Record<string, readonly [limit: number, output: number]>> = {
  scripted: [128_000, 8_192],

  'gpt-3.5-turbo': [16_385, 4_096],
  'gpt-4': [8_192, 8_192],
  'gpt-4-32k': [32_768, 8_192],
  'gpt-4-turbo': [128_000, 4_096],
  'gpt-4-1106': [128_000, 4_096],
  'gpt-4-0125': [128_000, 4_096],
  'gpt-4.1': [1_047_576, 32_768],
  'gpt-4.5': [128_000, 16_384],
  'gpt-4o': [128_000, 16_384],
  'chatgpt-4o': [128_000, 16_384],
  // 400,000 in total; this is the limit of the context.
  'gpt-5': [272_000, 128_000],
  'gpt-5-chat': [128_000, 16_384],
  'gpt-5.1-chat': [128_000, 16_384],
  'gpt-5.2-chat': [128_000, 16_384],
  'gpt-5.3-chat': [128_000, 16_384],
  'gpt-5.4': [1_050_000, 128_000],
  'gpt-5.4-mini': [272_000, 128_000],
  'gpt-5.4-nano': [272_000, 128_000],
  'gpt-5.5': [1_050_000, 128_000],
  'gpt-5.6': [1_050_000, 128_000],
  'gpt-5.6-cyber': [272_000, 128_000],
  'gpt-oss': [131_072, 131_072],
  'chat-latest': [128_000, 16_384],
  'codex-mini': [200_000, 100_000],
  o1: [200_000, 100_000],
  'o1-mini': [128_000, 65_536],
  'o1-preview': [128_000, 32_768],
  o3: [200_000, 100_000],
  o4: [200_000, 100_000],

  claude: [200_000, 8_192],
  'claude-3-haiku': [200_000, 4_096],
  'claude-3-opus': [200_000, 4_096],
  'claude-3-7-sonnet': [200_000, 64_000],
  'claude-sonnet-4': [200_000, 64_000],
  'claude-opus-4': [200_000, 32_000],
  'claude-haiku-4': [200_000, 64_000],
  'claude-opus-4-5': [200_000, 64_000],
  'claude-sonnet-4-6': [1_000_000, 128_000],
  'claude-opus-4-6': [1_000_000, 128_000],
  'claude-opus-4-7': [1_000_000, 128_000],
  'claude-opus-4-8': [1_000_000, 128_000],
  'claude-sonnet-5': [1_000_000, 128_000],
  'claude-opus-5': [1_000_000, 128_000],
  'claude-haiku-5': [200_000, 64_000],
  'claude-haiku-5-5': [1_000_000, 128_000],
  'claude-fable-5': [1_000_000, 128_000],

  gemini: [1_048_576, 65_536],
  'gemini-1.5-flash': [1_048_576, 8_192],
  'gemini-1.5-pro': [2_097_152, 8_192],
  'gemini-2.0-flash': [1_048_576, 8_192],
  'gemma-2': [8_192, 8_192],
  gemma2: [8_192, 8_192],
  'gemma-3': [131_072, 8_192],
  gemma3: [131_072, 8_192],
  'gemma-3-1b': [32_768, 8_192],
  'gemma3:1b': [32_768, 8_192],
  'gemma-3n': [32_768, 8_192],
  gemma3n: [32_768, 8_192],

  'llama-2': [4_096, 4_096],
  llama2: [4_096, 4_096],
  'llama-3': [8_192, 8_192],
  llama3: [8_192, 8_192],
  'llama-3.1': [131_072, 8_192],
  'llama3.1': [131_072, 8_192],
  'llama-3.2': [131_072, 8_192],
  'llama3.2': [131_072, 8_192],
  'llama-3.3': [131_072, 8_192],
  'llama3.3': [131_072, 8_192],
  'llama-4': [131_072, 8_192],
  llama4: [131_072, 8_192],
  mistral: [32_768, 8_192],
  'mistral-large': [131_072, 8_192],
  'mistral-medium': [131_072, 8_192],
  'mistral-small': [131_072, 8_192],
  'mistral-nemo': [131_072, 8_192],
  ministral: [131_072, 8_192],
  magistral: [40_960, 8_192],
  devstral: [131_072, 8_192],
  codestral: [32_768, 8_192],
  mixtral: [32_768, 8_192],
  'qwen2.5': [32_768, 8_192],
  'qwen2.5-coder': [32_768, 8_192],
  qwen3: [40_960, 16_384],
  'qwen3-coder': [262_144, 65_536],
  'qwen3-max': [262_144, 65_536],
  'qwen3-next': [262_144, 16_384],
  qwq: [131_072, 16_384],
  deepseek: [65_536, 8_192],
  'deepseek-chat': [128_000, 8_192],
  'deepseek-reasoner': [128_000, 65_536],
  'deepseek-v3': [128_000, 8_192],
  'deepseek-r1': [128_000, 32_768],
  'kimi-k2': [131_072, 16_384],
  'kimi-k2.5': [262_144, 32_768],
  'glm-4.5': [131_072, 98_304],
  'glm-4.6': [200_000, 131_072],
  'glm-4.7': [200_000, 131_072],
  'glm-5': [200_000, 131_072],
  'grok-3': [131_072, 16_384],
  'grok-4': [256_000, 32_768],
  'command-r': [128_000, 4_096],
  'command-a': [256_000, 8_192],
  phi3: [131_072, 4_096],
  'phi-3': [131_072, 4_096],
  phi4: [16_384, 4_096],
  'phi-4': [16_384, 4_096],
}

/** Looks up a model's window by its name, with or without provider (`anthropic/claude-opus-4-5`,
 *  `openrouter/meta-llama/llama-3.3-70b-instruct`), date or tag (`gpt-4o-2024-08-06`, `llama3.1:8b`). An
 *  override takes precedence over the table; an unknown name gets a cautious guess.
 *
 * @example
 * ```ts
 * import { windowOf } from 'skein/context'
 *
 * console.log(windowOf('openai/gpt-4o-2024-08-06').limit) // 128000
 * ```
 */
export function windowOf(model: string, overrides: WindowOverrides = {}): ModelWindow {
  const name = checkName(model, 'model').toLowerCase()
  const given = longest(Object.keys(overrides), key => begins(name, key) || begins(bareName(name), key))
  if (given !== undefined) {
    const window = overrides[given]!
    const { limit, output = tableWindow(name).output } =
      typeof window === 'number' ? { limit: window } : window
    return { limit, output: Math.min(output, limit), known: true }
  }
  const window = tableWindow(name)
  if (!name.startsWith('ollama/')) return window
  return {
    ...window,
    limit: Math.min(window.limit, ollamaLimit),
    output: Math.min(window.output, ollamaLimit),
  }
}

function tableWindow(name: string): ModelWindow {
  const family = longest(Object.keys(families), key => begins(name, key) || begins(bareName(name), key))
  if (family === undefined) return { ...unknownWindow, known: false }
  const [limit, output] = families[family]!
  return { limit, output, known: true }
}

function longest(keys: readonly string[], fits: (key: string) => boolean): string | undefined {
  return keys.filter(fits).sort((a, b) => b.length - a.length)[0]
}

/** A prefix ends at the end of a part of the name: `o1` is not a prefix of `o10`. */
function begins(name: string, key: string): boolean {
  return name.startsWith(key.toLowerCase()) && !/^[a-z0-9]/.test(name.slice(key.length))
}

/** The name without provider, region and the like. Some write versions of Claude with a dot. */
function bareName(name: string): string {
  const bare = name.slice(name.lastIndexOf('/') + 1)
  const claude = bare.indexOf('claude')
  return claude === -1 ? bare : bare.slice(claude).replaceAll('.', '-')
}
