import { fullModelName, knownAliases } from '../../api/full-model-name.ts'
import type { Config } from '../../config/config.ts'
import { providerAccess } from '../../config/provider-settings.ts'
import type { Conversation } from '../../core/conversation.ts'
import { MissingKeyError } from '../../core/errors.ts'
import type { Model } from '../../core/model.ts'
import { modelName } from '../../core/model-name.ts'
import { similarWords } from '../../core/similar-words.ts'
import { type Args, textOption } from '../command-line/command.ts'
import type { CommandContext } from '../command-line/command-context.ts'
import { UsageError } from '../command-line/usage-error.ts'
import { settingsOfModel } from './model-settings.ts'
import { missingKey, providers } from './provider-keys.ts'

/** The chosen model, and the reason. */
export interface ModelChoice {
  /** Provider and name: `anthropic/claude-sonnet-5-5`. */
  readonly id: string
  /** Where the choice comes from. `conversation`: the model that the conversation keeps; `key`: the provider
   *  whose key is set; `nothing`: the built-in model. */
  readonly from: 'flag' | 'conversation' | 'environment' | 'configuration' | 'key' | 'nothing'
  readonly aliases: Readonly<Record<string, string>>
}

/** The default model for each key. Taken from the providers' pages in November 2026: recommended for everyday
 *  work, with a window that `windowOf` knows. */
const defaults = ['anthropic/claude-sonnet-5-5', 'openai/gpt-5.5', 'google/gemini-3.5-flash'] as const

/** Printed if no key is set. */
export const demoNote = 'no key set: this is the built-in demo model. For a real one: skein config'

/** What is known of a conversation's model: null for a new conversation. */
export type ModelOwner = Pick<Conversation, 'model' | 'metadata'> | null

/** Chooses a model: `-m`, the one that the conversation keeps, SKEIN_MODEL, the configuration, the first
 *  provider whose key is set, the built-in model. The built-in model never answers in a conversation of
 *  another one. Throws UsageError. */
export function chooseModel(
  args: Args,
  env: CommandContext['env'],
  { model, models: aliases, ...keys }: Pick<Config, 'model' | 'models' | 'providers'>,
  conversation: ModelOwner = null,
): ModelChoice {
  const named = textOption(args, 'model')
  if (named?.trim() === '') throw new UsageError('--model must not be empty', '-m scripted needs no key')
  const pick = (name: string, from: ModelChoice['from']) => ({
    id: fullModelName(name, aliases),
    from,
    aliases,
  })
  if (named !== undefined) return checkDemo(pick(named, 'flag'), conversation)
  const kept = keptModel(conversation)
  if (kept !== null) return { id: kept, from: 'conversation', aliases }
  if (env.SKEIN_MODEL?.trim()) return pick(env.SKEIN_MODEL, 'environment')
  if (model !== null) return pick(model, 'configuration')
  const byKey = defaults.find(one => missingKey(one, env, keys) === null)
  return checkDemo(byKey === undefined ? pick('scripted', 'nothing') : pick(byKey, 'key'), conversation)
}

/** The mark of a conversation whose model was not chosen: no key was set. A real model may continue it. */
export const demoMark = { demo: true } as const

/** The model that a conversation keeps. The name of another program's agent does not count, and the built-in
 *  model is kept only if it was named. */
function keptModel(conversation: ModelOwner): string | null {
  const model = conversation?.model ?? null
  if (model === null || model.includes('/')) return model
  return model === 'scripted' && conversation?.metadata.demo !== true ? model : null
}

/** Refuses the built-in model in a conversation of another one. */
export function checkDemo(choice: ModelChoice, conversation: ModelOwner): ModelChoice {
  const before = conversation?.model ?? 'scripted'
  if (choice.id !== 'scripted' || before === 'scripted') return choice
  const name = modelName(before)
  throw choice.from === 'flag'
    ? new UsageError(
        `this conversation is with ${name}, and the demo model does not answer in it`,
        'In a new one: skein -n -m scripted',
      )
    : new UsageError(
        `this conversation is with ${name}, and no key is set for another model`,
        'Set one (skein config), or start another: skein -n',
      )
}

/** Chooses and opens the model for a conversation. Throws MissingKeyError, UsageError, and InvalidError for
 *  an unknown name. */
export async function openChosenModel(
  args: Args,
  context: CommandContext,
  conversation: ModelOwner = null,
): Promise<{ readonly model: Model; readonly choice: ModelChoice; readonly config: Config }> {
  const { readConfig } = await import('../../config/read-config.ts')
  const config = await readConfig(context.cwd, context.env)
  const choice = chooseModel(args, context.env, config, conversation)
  return { model: await openChoice(choice, context, config), choice, config }
}

/** Opens the chosen model. If the key of a conversation's own model is missing, the error says so. */
export async function openChoice(
  choice: ModelChoice,
  context: CommandContext,
  config: Config,
): Promise<Model> {
  try {
    return await openNamedModel(choice.id, context, config)
  } catch (error) {
    if (choice.from === 'conversation' && error instanceof MissingKeyError)
      error.message = `this conversation is with ${modelName(choice.id)}, and ${error.message}`
    throw error
  }
}

/** Opens a model by the name that the user typed. */
export async function openNamedModel(
  name: string,
  context: CommandContext,
  config: Pick<Config, 'models' | 'modelSettings' | 'options' | 'providers'>,
): Promise<Model> {
  const { openModel } = await import('../../models/open.ts')
  const id = fullModelName(name, config.models)
  if (!id.includes('/') && id !== 'scripted') throw noModel(name, config.models)
  const { price } = settingsOfModel(config, id)
  const access = providerAccess(context.env, config.providers)
  return openModel(id, { env: context.env, ...access, ...(price !== null && { price }) })
}

/** The error for a name that no provider can have; null for any other. The provider is not asked. */
export function unknownModel(name: string, aliases: Readonly<Record<string, string>>): UsageError | null {
  const id = fullModelName(name, aliases)
  if (id === 'scripted') return null
  if (!id.includes('/')) return noModel(name, aliases)
  const [provider = ''] = id.toLowerCase().split('/', 1)
  const known = providers.map(one => one.name)
  if (known.includes(provider)) return null
  const [near] = similarWords(provider, known)
  const meant =
    near === undefined
      ? `Providers: ${known.join(', ')}`
      : `Did you mean ${near}${id.slice(provider.length)}?`
  return new UsageError(`no model ${name}: there is no provider ${provider}`, meant)
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
