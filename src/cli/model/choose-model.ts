import type { Config } from '../../config/config.ts'
import type { Model } from '../../core/model.ts'
import { type Args, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { similarWords } from '../command-line/similar-words.ts'
import { UsageError } from '../command-line/usage-error.ts'

/** The chosen model, and the reason. */
export interface ModelChoice {
  /** Provider and name: `anthropic/claude-sonnet-5-5`. */
  readonly id: string
  /** Where the choice comes from. `key`: the provider whose key is set; `nothing`: the built-in model. */
  readonly from: 'flag' | 'environment' | 'configuration' | 'key' | 'nothing'
  readonly aliases: Readonly<Record<string, string>>
}

/** The default model for each key. Taken from the providers' pages in November 2026: recommended for everyday
 *  work, with a window that `windowOf` knows. */
const defaults: readonly (readonly [variable: string, model: string])[] = [
  ['ANTHROPIC_API_KEY', 'anthropic/claude-sonnet-5-5'],
  ['OPENAI_API_KEY', 'openai/gpt-5.5'],
  ['GOOGLE_GENERATIVE_AI_API_KEY', 'google/gemini-3.5-flash'],
  ['GEMINI_API_KEY', 'google/gemini-3.5-flash'],
]

/** Short names that need no configuration. */
export const knownAliases: Readonly<Record<string, string>> = {
  sonnet: 'anthropic/claude-sonnet-5-5',
  opus: 'anthropic/claude-opus-5-5',
  haiku: 'anthropic/claude-haiku-5-5',
  gpt: 'openai/gpt-5.5',
  gemini: 'google/gemini-3.5-flash',
}

/** Printed if no key is set. */
export const demoNote = 'no key set: this is the built-in demo model. For a real one: skein config'

/** Chooses a model: `-m`, SKEIN_MODEL, the configuration, the first provider whose key is set, the built-in
 *  model. */
export function chooseModel(
  args: Args,
  env: CommandContext['env'],
  { model, models: aliases }: Pick<Config, 'model' | 'models'>,
): ModelChoice {
  const named = textOption(args, 'model')
  if (named?.trim() === '') throw new UsageError('--model must not be empty', '-m scripted needs no key')
  const pick = (name: string, from: ModelChoice['from']) => ({
    id: fullModelName(name, aliases),
    from,
    aliases,
  })
  if (named !== undefined) return pick(named, 'flag')
  if (env.SKEIN_MODEL?.trim()) return pick(env.SKEIN_MODEL, 'environment')
  if (model !== null) return pick(model, 'configuration')
  const [, byKey] = defaults.find(([variable]) => env[variable]?.trim()) ?? []
  return byKey === undefined ? pick('scripted', 'nothing') : pick(byKey, 'key')
}

/** Chooses and opens a model. Throws MissingKeyError, and InvalidError for an unknown name. */
export async function openChosenModel(
  args: Args,
  context: CommandContext,
): Promise<{ readonly model: Model; readonly choice: ModelChoice; readonly config: Config }> {
  const { readConfig } = await import('../../config/read-config.ts')
  const config = await readConfig(context.cwd, context.env)
  const choice = chooseModel(args, context.env, config)
  return { model: await openNamedModel(choice.id, context, choice.aliases), choice, config }
}

/** Opens a model by the name that the user typed. */
export async function openNamedModel(
  name: string,
  context: CommandContext,
  aliases: Readonly<Record<string, string>> = {},
): Promise<Model> {
  const { openModel } = await import('../../models/open.ts')
  const id = fullModelName(name, aliases)
  if (!id.includes('/') && id !== 'scripted') throw noModel(name, aliases)
  return openModel(id, { env: context.env })
}

/** `no model sonet-4.5. Near: sonnet-4.5. All: skein config models` */
function noModel(name: string, aliases: Readonly<Record<string, string>>): UsageError {
  const [, family = name, version = ''] = /^([a-z]+)(-?[\d.].*)?$/i.exec(name) ?? []
  const known = [...Object.keys(aliases), ...Object.keys(knownAliases), 'scripted']
  const [whole] = similarWords(name, known)
  const [meant] = similarWords(family, known)
  const suggested = whole ?? (meant === undefined ? undefined : `${meant}${version}`)
  const hint = suggested === undefined ? 'By its provider: -m openai/gpt-5.5' : `Near: ${suggested}`
  return new UsageError(`no model ${name}`, `${hint}. All: skein config models`)
}

/** The full name of a typed model: of an alias, of a name without its provider, or of `sonnet-4.5`. */
export function fullModelName(typed: string, aliases: Readonly<Record<string, string>> = {}): string {
  const name = typed.trim()
  const lower = name.toLowerCase()
  for (const known of [aliases, knownAliases]) {
    if (Object.hasOwn(known, name)) return known[name]!
  }
  if (name.includes('/')) return name
  const claude = /^(?:claude-)?((?:sonnet|opus|haiku|fable)-[\d.]+)$/.exec(lower)?.[1]
  if (claude !== undefined) return `anthropic/claude-${claude.replaceAll('.', '-')}`
  if (lower.startsWith('claude-')) return `anthropic/${name}`
  if (/^(gpt-|chatgpt-|o\d)/.test(lower)) return `openai/${name}`
  return lower.startsWith('gemini-') ? `google/${name}` : name
}
